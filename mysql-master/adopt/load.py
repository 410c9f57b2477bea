"""Copies an existing MySQL: one snapshot of it, by several dumps side by side, straight into our master.

In:  a Clients with `source` and `master`, the tables, what the state file says. Out: schemas, rows, programs and views on the master, compared with
the snapshot; the snapshot's position.
Must never: let writers of the source wait for longer than the snapshots take to begin; leave a lock or a dump behind.

The load is in nobody's binlog: GTIDs that our master is given at its end stand for it (plan.purge), and satellites, which lack them, clone.
While it lasts, the source may be written, but not be redefined (LOCK INSTANCE FOR BACKUP).
"""

import concurrent.futures
import json
import re
import threading
import time

import clients
import plan
import questions

# Writers wait with it, and it can be in vain: a statement that waits for a row of a transaction whose next statement waits for this lock.
LOCK_WAIT_S = 2
LOCK_PAUSE_S = 1
LOCK_WITHIN_S = 120
LOCK_TIMEOUT = "ERROR 1205 "
SNAPSHOTS_WITHIN_S = 30
SAY_EVERY_S = 5

# Rows as they are, nothing that belongs to the server or to its log, no locks beside the snapshot's.
DUMP = "mysqldump --defaults-file=/adopt/{options} --single-transaction --set-gtid-purged=OFF --column-statistics=0 --no-tablespaces --hex-blob"
DUMP += " --skip-add-locks --skip-disable-keys --skip-comments --max-allowed-packet=1G --default-character-set=utf8mb4"
STRUCTURE = "--no-data --skip-triggers --skip-add-drop-table"
ROWS = "--no-create-info --no-create-db --skip-triggers --verbose"
PROGRAMS = "--no-data --no-create-info --no-create-db --routines --events --triggers"
EVENTS = "--no-data --no-create-info --no-create-db --events --skip-triggers"
VIEWS = "--no-data --no-create-db --skip-triggers"
INTO = (
    "mysql --defaults-file=/adopt/master.cnf --default-character-set=utf8mb4 --max-allowed-packet=1G --binary-mode --init-command='{first}'"
)
UNLOGGED = "SET SESSION sql_log_bin = 0"
# What --verbose says next after START TRANSACTION WITH CONSISTENT SNAPSHOT.
SNAPSHOT_BEGUN = "-- Setting savepoint...\n"
TABLE = re.compile(r"^-- Retrieving table structure for table (.*?)\.\.\.$")


class Load:
    def __init__(self, there, source_options, schemas, tables, views, workers, say):
        self.there, self.options, self.schemas, self.say = there, source_options, schemas, say
        self.tables, self.views = tables, views
        self.shares = plan.deal(tables, workers)
        # Processes that end with the load, however it ends.
        self.running = []
        self.done = [0] * len(self.shares)

    def run(self):
        """The snapshot's position; everything is loaded, and equal to the snapshot."""
        try:
            definitions = self._session()
            definitions.run(f"SET SESSION lock_wait_timeout = {LOCK_WITHIN_S}")
            definitions.run("LOCK INSTANCE FOR BACKUP")
            self.pipe(STRUCTURE, self.views)
            position, dumps, readers = self._snapshot()
            self._rows(dumps, readers)
            self.pipe(PROGRAMS, self.views)
            self.pipe(VIEWS, self.tables)
            definitions.run("UNLOCK INSTANCE")
            return position
        finally:
            self._end()

    def _end(self):
        """Also what hangs: whoever waits for it goes on."""
        for each in self.running:
            each.kill()

    def _rows(self, dumps, readers):
        begun = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(len(self.shares) + 1) as pool:
            try:
                # CHECKSUM TABLE reads in the session's snapshot.
                sums = pool.submit(self._sums, readers)
                ends = [pool.submit(self._watch, number, dump) for number, dump in enumerate(dumps)]
                self._say_progress([*ends, sums], begun)
                for end in ends:
                    end.result()
                expected = sums.result()
            except BaseException:
                self._end()
                raise
        loaded = time.monotonic() - begun
        self._compare(expected)
        self.say(f"{len(self.tables)} tables loaded in {loaded:.1f} s, equal to the snapshot")

    def pipe(self, what, without):
        """One dump of these schemas, from its begin to its end."""
        pipe(self.there, self.options, self.schemas, what, without)

    def _snapshot(self):
        """(position, dumps, readers), each with a snapshot of the same moment: begun while nobody could commit."""
        scripts = [self._dump(number, share) for number, share in enumerate(self.shares)]
        dumps = [self.there.start(script) for script in scripts]
        self.running += dumps
        readers = [self._session() for _ in self.shares]
        for reader in readers:
            reader.run("SET SESSION transaction_isolation = 'REPEATABLE-READ', SESSION wait_timeout = 86400")
        lock, held = self._lock_writers()
        try:
            position = json.loads(lock.run(questions.POSITION)[0][0])
            for dump in dumps:
                dump.stdin.write("\n")
                dump.stdin.flush()
            for reader in readers:
                reader.run("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
            self._await_snapshots(dumps)
        finally:
            lock.run("UNLOCK TABLES")
        self.say(f"{len(dumps)} snapshots of one moment; writers there waited {time.monotonic() - held:.2f} s")
        return position, dumps, readers

    def _session(self):
        session = self.there.session("source")
        self.running.append(session)
        return session

    def _lock_writers(self):
        """(session, since when): nobody commits until it lets go."""
        end = time.monotonic() + LOCK_WITHIN_S
        while True:
            lock, since = self._session(), time.monotonic()
            lock.run(f"SET SESSION lock_wait_timeout = {LOCK_WAIT_S}")
            try:
                lock.run("FLUSH TABLES WITH READ LOCK")
                return lock, since
            except clients.Failed as failure:
                if LOCK_TIMEOUT not in str(failure) or time.monotonic() > end:
                    raise
            time.sleep(LOCK_PAUSE_S)

    @staticmethod
    def _await_snapshots(dumps):
        pool = concurrent.futures.ThreadPoolExecutor(len(dumps))
        begun = [pool.submit(snapshot_begun, dump) for dump in dumps]
        late = concurrent.futures.wait(begun, SNAPSHOTS_WITHIN_S).not_done
        pool.shutdown(wait=False)
        if late:
            raise clients.Failed(f"not all snapshots had begun within {SNAPSHOTS_WITHIN_S} s")
        for each in begun:
            each.result()

    def _dump(self, number, share):
        """A script that waits for a line, then loads a share of the rows."""
        mine = {(schema, name) for schema, name, *_ in share}
        others = [each for each in self.tables if (each[0], each[1]) not in mine]
        options = f"share-{number}.cnf"
        self.there.write(options, self.options + "[mysqldump]\n" + plan.ignoring([*others, *self.views]))
        schemas = sorted({schema for schema, *_ in share})
        command = f"{DUMP.format(options=options)} {ROWS} --databases {' '.join(map(shell, schemas))}"
        into = INTO.format(first=UNLOGGED)
        return f"(read -r _; exec {command}) | {into}"

    def _watch(self, number, dump):
        """Until a dump's end; counts what is done."""
        complaints, sizes, last = [], {name: size for _, name, size, *_ in self.shares[number]}, 0
        for line in dump.stderr:
            found = TABLE.match(line.rstrip("\n"))
            if found:
                self.done[number] += last
                last = sizes.get(found[1].strip("`"), 0)
            elif not line.startswith("-- "):
                complaints.append(line.strip())
        if dump.wait():
            raise clients.Failed("; ".join(complaints[-3:]) or f"a dump ended with {dump.returncode}")
        self.done[number] = sum(sizes.values())

    def _say_progress(self, ends, begun):
        whole = max(1, sum(table[2] for table in self.tables))
        while concurrent.futures.wait(ends, SAY_EVERY_S, concurrent.futures.FIRST_EXCEPTION).not_done:
            failed = [each for each in ends if each.done() and each.exception()]
            if failed:
                raise failed[0].exception()
            done = sum(self.done)
            self.say(f"{done >> 20} of {whole >> 20} MiB in {time.monotonic() - begun:.0f} s")

    def _sums(self, readers):
        """{(schema, name): checksum} of each table in the snapshot."""
        return dict(in_parallel(lambda number: self._sums_of(readers[number], self.shares[number]), len(readers)))

    @staticmethod
    def _sums_of(session, share):
        for schema, name, _, floats in share:
            where = f"{plan.quoted(schema)}.{plan.quoted(name)}"
            query = f"SELECT COUNT(*), COUNT(*) FROM {where}" if floats else f"CHECKSUM TABLE {where}"
            yield (schema, name), session.run(query)[0][1]
        session.close()

    def _compare(self, expected):
        found = self._sums([self.there.session("master") for _ in self.shares])
        wrong = [".".join(name) for name in expected if found[name] != expected[name]]
        if wrong:
            raise clients.Failed(f"these tables differ from the snapshot: {', '.join(wrong[:10])} ({len(wrong)} in all)")
        floats = [f"{schema}.{name}" for schema, name, _, floats in self.tables if floats]
        if floats:
            self.say(f"a dump writes FLOAT with six digits; of these only the rows were counted: {', '.join(floats)}")


def snapshot_begun(dump):
    """Returns once a dump's transaction has begun: it says what it does next only after the server has begun it."""
    said = []
    for line in dump.stderr:
        if line == SNAPSHOT_BEGUN:
            return
        said.append(line)
    dump.wait()
    raise clients.Failed("a dump ended before its snapshot: " + "".join(said[-3:]).strip())


def pipe(there, source_options, schemas, what, without, first=UNLOGGED):
    there.write("part.cnf", source_options + "[mysqldump]\n" + plan.ignoring(without))
    names = " ".join(map(shell, schemas))
    there.bash(f"set -o pipefail; {DUMP.format(options='part.cnf')} {what} --databases {names} | {INTO.format(first=first)}")


def shell(word):
    return "'" + word.replace("'", "'\\''") + "'"


def in_parallel(work, count):
    """What `work(number)` yields, of all numbers, each on a thread of its own."""
    rows, lock = [], threading.Lock()

    def one(number):
        mine = list(work(number))
        with lock:
            rows.extend(mine)

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        for each in [pool.submit(one, number) for number in range(count)]:
            each.result()
    return rows
