"""What the answers of an existing MySQL (facts.py) mean for a move to Multimed. Pure.

In:  the answers, the machine's memory, what satellites get, where each of its statements would run. Out: findings, and the report of them.
Must never: say OK of what could not be asked.
"""

import collections
import dataclasses
import re

OK, NOTE, BLOCKS, UNCHECKED = "OK", "note", "blocks", "not checked"
SHOWN = 6
RAN_WITH = ("9.7",)
SYSTEM_USERS = ("root", "mysql.sys", "mysql.session", "mysql.infoschema", "debian-sys-maint")
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
# An empty data directory takes this much of a satellite's tmpfs.
EMPTY_DATA = 200 << 20

# Settings that change what statements do or what a session may: name -> what a difference means.
SETTINGS = {
    "sql_mode": "statements that pass there may fail here, or the other way round",
    "time_zone": "times are computed in it. Give it as an offset such as +02:00: with a zone that is not UTC and comes from the system, "
    "what depends on it makes satellites clone",
    "character_set_server": "new databases that name none get this one",
    "collation_server": "new databases that name none get this one",
    "default_collation_for_utf8mb4": "comparisons of utf8mb4 text that names no collation use it",
    "explicit_defaults_for_timestamp": "TIMESTAMP columns without a default differ",
    "innodb_strict_mode": "CREATE TABLE with odd options fails or passes",
    "transaction_isolation": "the level of transactions that name none",
    "autocommit": "with it off, no read of a session that does not set it reaches satellites",
    "init_connect": "it runs for each new session",
    "div_precision_increment": "divisions have other digits",
    "group_concat_max_len": "GROUP_CONCAT cuts elsewhere",
    "auto_increment_increment": "generated numbers differ",
    "auto_increment_offset": "generated numbers differ",
    "default_week_format": "WEEK() differs",
    "lc_time_names": "names of days and months differ",
    "block_encryption_mode": "AES_ENCRYPT() differs",
    "innodb_ft_min_token_size": "full-text searches find other words",
    "innodb_ft_max_token_size": "full-text searches find other words",
    "ngram_token_size": "full-text searches find other words",
    "innodb_rollback_on_timeout": "what a lock timeout undoes differs",
    "innodb_lock_wait_timeout": "lock waits end sooner or later",
    "wait_timeout": "idle sessions end sooner or later",
    "sql_require_primary_key": "tables without key are refused or not",
    "partial_revokes": "grants with partial revokes cannot be copied",
    "local_infile": "LOAD DATA LOCAL is refused or not",
    "event_scheduler": "events run or not",
    "innodb_page_size": "the longest row and index differ",
    "activate_all_roles_on_login": "granted roles are active or not",
    "mandatory_roles": "everybody has these roles",
}


@dataclasses.dataclass(frozen=True)
class Finding:
    """One line of the report: what was found, what it means, what to do."""

    group: str
    level: str
    what: str
    means: str = ""
    do: str = ""


@dataclasses.dataclass(frozen=True)
class Here:
    """What Multimed has: its master's settings, bytes of memory in this machine, satellites and what a tmpfs of each may hold."""

    settings: dict
    memory: int
    satellites: int
    tmpfs: int


def findings(facts, errors, here, places=None):
    """All findings, group by group. places: for each of facts['digests'] where it would run; None: nobody could say."""
    asked = Asked(facts, errors)
    if asked.version is None or wrong_version(*asked.version):
        # Its other answers, if it has any, mean something else.
        return list(server(asked))
    return [
        *server(asked),
        *visible(asked),
        *tables(asked),
        *objects(asked),
        *accounts(asked),
        *settings(asked, here),
        *size(asked, here),
        *load(asked, places),
    ]


class Asked:
    """The answers; what has none is a finding of its own."""

    def __init__(self, facts, errors):
        self.facts, self.errors = facts, errors
        self.version = next(iter(facts.get("version", ())), None)
        have = {row[0] for row in facts.get("privileges", ())}
        # information_schema is silent about what the account may not see.
        self.lacks = [each for each in ("SELECT", "SHOW VIEW", "TRIGGER", "EVENT", "PROCESS") if each not in have]

    def __contains__(self, name):
        return name in self.facts

    def __getitem__(self, name):
        return self.facts[name]

    def map(self, name):
        return dict(self.facts.get(name, ()))

    def without(self, group, what, *names):
        """The finding that this was not checked, for the first of the answers that is missing."""
        # One that has no row, neither.
        name = next((name for name in names if name not in self.facts), names[0])
        return Finding(group, UNCHECKED, what, self.errors.get(name, "no answer"), "grant the account what it lacks, and run it again")


def listed(rows, name=lambda row: ".".join(row[:2]), more=lambda row: row[2:]):
    """Some of the rows by name, with what else is known of each, and how many more there are."""
    shown = [" ".join([name(row), *(f"({part})" for part in more(row))]) for row in rows[:SHOWN]]
    return ", ".join(shown) + (f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else "")


def accounts_of(rows):
    return listed(rows, name=lambda row: f"{row[0] or chr(39) * 2}@{row[1]}")


def on_rows(asked, group, name, what, fine, level, means, do):
    """One finding on rows of an answer: none is OK."""
    if name not in asked:
        return [asked.without(group, what, name)]
    rows = asked[name]
    if not rows:
        return [] if asked.lacks else [Finding(group, OK, fine)]
    return [Finding(group, level, f"{len(rows)} {what}: {listed(rows)}", means, do)]


def wrong_version(version, comment=""):
    """The finding that nothing comes from there, or None."""
    number = re.match(r"(\d+)\.(\d+)", version)
    name = f"MySQL {version}" + (f", {comment.strip('()')}" if comment else "")
    if "mariadb" in f"{version} {comment}".lower():
        # Before version 11 it says 5.5.5 first, for old clients.
        name = f"MariaDB {version.removeprefix('5.5.5-')}"
        return Finding("server", BLOCKS, name, "MariaDB's types, GTIDs and statements differ", "move to MySQL 8.4 first")
    if not number:
        return Finding("server", BLOCKS, name, "that is no version of MySQL's", "move to MySQL 8.4 first")
    if (int(number[1]), int(number[2])) < (8, 0):
        return Finding("server", BLOCKS, name, "older than 8.0", "upgrade to 8.0 or 8.4 first")
    return None


def no_login(error, greeting):
    """Lines on why nobody could log in. greeting: rows with what the server said of its version before that, if it was asked."""
    yield error
    found = wrong_version(greeting[0][0]) if greeting and re.match(r"\d+\.\d+\.", greeting[0][0]) else None
    if found:
        yield f"{found.what}: {found.means}; {found.do}"
    elif error.startswith("2059:"):
        yield "the account's plugin is one that MySQL 9's clients lack here (2059), such as mysql_native_password:"
        yield "ALTER USER … IDENTIFIED WITH caching_sha2_password BY '…' there. MariaDB and versions before 8.0 lack that: from them nothing comes"


def server(asked):
    if asked.version is None:
        yield Finding("server", BLOCKS, "its version is unknown", asked.errors.get("version", "no answer"), "move to MySQL 8.4 first")
        return
    version, comment = asked.version
    name = f"MySQL {version}, {comment.strip('()')}"
    wrong = wrong_version(version, comment)
    if wrong:
        yield wrong
        return
    if any(version.startswith(ran + ".") for ran in RAN_WITH):
        yield Finding("server", OK, f"{name}: the version that all tests ran with")
    else:
        yield Finding("server", NOTE, name, "never loaded from that version in a test (docs/limits.md)", "try it on a copy first")
    variables = asked.map("variables")
    if not variables:
        yield asked.without("server", "how it writes its binlog", "variables")
        return
    odd = [
        f"{name}={variables[name]}"
        for name, usual in (("binlog_format", "ROW"), ("binlog_row_image", "FULL"), ("binlog_row_value_options", ""), ("gtid_mode", "ON"))
        if variables.get(name, usual) != usual
    ]
    if odd:
        yield Finding(
            "server",
            NOTE,
            ", ".join(odd),
            "our master writes whole rows and GTIDs; sessions that set statement format or partial JSON make satellites clone or cost more",
            "take such SET statements out of the application",
        )
    if variables.get("enforce_gtid_consistency", "ON") != "ON":
        yield Finding(
            "server",
            NOTE,
            "enforce_gtid_consistency is not ON",
            "our master refuses what GTIDs cannot carry",
            "set it to WARN there for a day, and look for warnings in its error log",
        )


def visible(asked):
    if "privileges" not in asked:
        yield asked.without("server", "what the account may see", "privileges")
    elif asked.lacks:
        what = "what the account may not see: below, OK is left out"
        yield Finding("server", UNCHECKED, what, f"it lacks {', '.join(asked.lacks)} on *.*", "grant them, and run it again")


def tables(asked):
    group = "tables"
    yield from on_rows(
        asked,
        group,
        "engines",
        "tables of other engines than InnoDB",
        "all tables are InnoDB",
        BLOCKS,
        "a satellite's clone would copy them empty, so the master refuses them",
        "ALTER TABLE … ENGINE=InnoDB",
    )
    yield from on_rows(
        asked,
        group,
        "no_key",
        "tables without primary key",
        "every table has a primary key",
        NOTE,
        "each change searches the whole table on every satellite",
        "add a primary key (an invisible AUTO_INCREMENT column will do)",
    )
    yield from on_rows(
        asked,
        group,
        "encrypted",
        "encrypted tables",
        "no table is encrypted",
        BLOCKS,
        "master and satellites have no keyring",
        "ALTER TABLE … ENCRYPTION='N'; encrypt the disk instead",
    )
    yield from on_rows(
        asked,
        group,
        "tablespaces",
        "tables in general tablespaces",
        "no table is in a general tablespace",
        BLOCKS,
        "a dump does not create the tablespace",
        "ALTER TABLE … TABLESPACE=innodb_file_per_table",
    )
    yield from on_rows(
        asked,
        group,
        "elsewhere",
        "tables with a DATA DIRECTORY",
        "no table has a DATA DIRECTORY",
        BLOCKS,
        "the directory is not there on master and satellites",
        "make them anew without it",
    )
    yield from on_rows(
        asked,
        group,
        "types",
        "tables with types or character sets that travel as binlog events",
        "all types travel as rows",
        NOTE,
        "correct, at a little more cost on satellites (cdc-applier/LOG.md)",
        "nothing",
    )
    yield from on_rows(
        asked,
        group,
        "generated",
        "tables with generated columns or CHECKs",
        "no generated columns or CHECKs",
        NOTE,
        "they travel as binlog events; satellites compute stored ones again",
        "nothing, unless one depends on div_precision_increment or the time zone (docs/replication.md)",
    )
    yield from on_rows(
        asked,
        group,
        "cascades",
        "tables with foreign keys that cascade",
        "no cascades",
        NOTE,
        "up to MySQL 9.5 satellites run the cascades themselves; a master just started may lose some (docs/limits.md)",
        "read once from each after a restart of the master",
    )
    yield from on_rows(
        asked,
        group,
        "own_indexes",
        "indexes named multimed_own_…",
        "no index has a name of ours",
        BLOCKS,
        "satellites drop indexes of such names",
        "ALTER TABLE … RENAME INDEX",
    )


def objects(asked):
    group = "programs"
    yield from on_rows(
        asked,
        group,
        "triggers",
        "triggers",
        "no triggers",
        NOTE,
        "they fire on the master only; satellites get what they did",
        "nothing",
    )
    yield from on_rows(
        asked,
        group,
        "events",
        "events",
        "no events",
        NOTE,
        "they run on the master only, from the moment they are loaded",
        "stop them on the old server (SET GLOBAL event_scheduler = OFF) when the new one takes over",
    )
    yield from on_rows(
        asked,
        group,
        "definers",
        "objects whose definer has no account",
        "every definer has an account",
        NOTE,
        "they fail when they are used, here as there",
        "create the account or the object anew",
    )
    yield from on_rows(
        asked,
        group,
        "functions",
        "loadable functions",
        "no loadable functions",
        BLOCKS,
        "their libraries are not in master and satellites",
        "put the library into both images, or do without",
    )
    for name in ("plugins", "components"):
        yield from on_rows(
            asked,
            group,
            name,
            f"{name} that were added",
            f"no {name} were added",
            NOTE,
            "master and satellites do not have them, but clone",
            "load those that the application needs in mysql-master/conf.d and mysql-satellite/conf.d",
        )
    status = asked.map("status")
    if not status:
        yield asked.without(group, "use of LOAD DATA and XA", "status")
        return
    if int(status.get("com_load", 0)):
        yield Finding(
            group,
            NOTE,
            f"LOAD DATA ran {status['com_load']} times",
            "only LOAD DATA LOCAL works: secure_file_priv is NULL here; SELECT … INTO OUTFILE neither",
            "load from clients, and set local_infile on the master if need be",
        )
    if int(status.get("com_xa_start", 0)):
        yield Finding(
            group,
            NOTE,
            f"XA transactions began {status['com_xa_start']} times",
            "changes travel at XA COMMIT; satellites clone if the binlog with the XA PREPARE is gone by then",
            "keep them short",
        )


def own_user(user):
    return user in SYSTEM_USERS or user.startswith("mysql.")


def accounts(asked):
    group = "accounts"
    if "users" not in asked:
        yield asked.without(group, "accounts and how they log in", "users")
        return
    people = [row for row in asked["users"] if not own_user(row[0])]
    # Roles are locked and have no password.
    logins = [row for row in people if not row[4]]
    plugins = [(user, host, plugin) for user, host, plugin, _, _ in logins if plugin != "caching_sha2_password"]
    certificates = [(user, host, kind) for user, host, _, kind, _ in logins if kind in ("X509", "SPECIFIED")]
    reserved = [(user, host) for user, host, *_ in people if user.startswith("multimed_")]
    nameless = [(user, host) for user, host, *_ in people if not user]
    bound = [(user, host) for user, host, *_ in logins if host != "%" and host not in LOCAL_HOSTS]
    local = [(user, host) for user, host, *_ in logins if host in LOCAL_HOSTS]
    found = [
        (
            plugins,
            BLOCKS,
            "accounts log in by another plugin",
            "the gate serves caching_sha2_password only, MySQL 9 has no mysql_native_password",
            "ALTER USER … IDENTIFIED WITH caching_sha2_password BY …, or drop them",
        ),
        (
            certificates,
            BLOCKS,
            "accounts need a client certificate",
            "the gate cannot show the client's certificate to the server",
            "ALTER USER … REQUIRE SSL",
        ),
        (reserved, BLOCKS, "accounts have names of ours", "multimed_… belongs to the stack", "RENAME USER"),
        (nameless, BLOCKS, "anonymous accounts", "they catch the logins of others", "DROP USER ''@…"),
        (
            bound,
            BLOCKS,
            "accounts are bound to a host",
            "the servers see the gate's address, not the client's: these cannot log in through the gate",
            "RENAME USER … TO …@'%', and keep others out by the network",
        ),
        (
            local,
            NOTE,
            "accounts are bound to localhost",
            "they cannot log in through the gate, only inside the master's container",
            "RENAME USER … TO …@'%' for those that applications use",
        ),
    ]
    for rows, level, what, means, do in found:
        if rows:
            yield Finding(group, level, f"{len(rows)} {what}: {accounts_of(rows)}", means, do)
    if not any(rows for rows, level, *_ in found if level == BLOCKS):
        yield Finding(group, OK, f"{len(people)} accounts and roles that the gate can serve")
    if "powers" not in asked:
        yield asked.without(group, "privileges that bypass the binlog", "powers")
        return
    powers = [(*grantee.replace("'", "").rsplit("@", 1), what) for grantee, what in asked["powers"] if not own_user(grantee.split("'")[1])]
    if powers:
        yield Finding(
            group,
            NOTE,
            f"{len(powers)} accounts may bypass the binlog or write files: {accounts_of(powers)}",
            "what bypasses the binlog never reaches satellites, which then differ",
            "leave these privileges out; grant them by hand to whom you trust with that",
        )


def same(one, other):
    def plain(value):
        value = str(value).strip().upper()
        value = {"TRUE": "ON", "FALSE": "OFF", "1": "ON", "0": "OFF", "(NO DEFAULT VALUE SET)": "", "(NO DEFAULT)": ""}.get(value, value)
        return ",".join(sorted(value.split(",")))

    return plain(one) == plain(other)


def settings(asked, here):
    group = "settings"
    variables = asked.map("variables")
    if not variables:
        yield asked.without(group, "its settings", "variables")
        return
    if not here.settings:
        yield Finding(group, UNCHECKED, "differences from our master", "mysqld did not tell its settings", "make images")
        return
    cases = variables.get("lower_case_table_names"), here.settings.get("lower_case_table_names")
    if not same(*cases):
        yield Finding(
            group,
            BLOCKS,
            f"lower_case_table_names is {cases[0]}, here {cases[1]}",
            "statements that write a table's name in another case fail here, or tables become one",
            f"before the first make up: lower_case_table_names={cases[0]} in mysql-master/conf.d and mysql-satellite/conf.d",
        )
    count = 0
    for name, means in SETTINGS.items():
        there, ours = variables.get(name), here.settings.get(name)
        if there is None or ours is None or same(there, ours) or name == "time_zone":
            continue
        count += 1
        yield Finding(
            group,
            NOTE,
            f"{name} is {there or 'empty'}, here {ours or 'empty'}",
            means,
            f"decide; {name} in mysql-master/conf.d and mysql-satellite/conf.d",
        )
    zone = variables.get("system_time_zone") if variables.get("time_zone") == "SYSTEM" else variables.get("time_zone")
    if zone not in ("UTC", "+00:00", "Etc/UTC"):
        count += 1
        yield Finding(
            group,
            NOTE,
            f"the time zone is {zone}, here UTC",
            SETTINGS["time_zone"],
            "default_time_zone in mysql-master/conf.d and mysql-satellite/conf.d",
        )
    if not count:
        yield Finding(group, OK, "no other setting that changes what statements do")


def readable(size):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024


def size(asked, here):
    group = "size"
    if "schemas" not in asked:
        yield asked.without(group, "how much data there is", "schemas")
        return
    count = sum(row[1] for row in asked["schemas"])
    data = int(sum(row[2] for row in asked["schemas"]))
    what = f"{readable(data)} in {count} tables of {len(asked['schemas'])} schemas"
    all_of_it = here.satellites * data
    if all_of_it > here.memory:
        yield Finding(
            group,
            BLOCKS,
            f"{what}; {here.satellites} satellites hold {readable(all_of_it)}, this machine has {readable(here.memory)}",
            "each satellite holds the whole database in memory",
            "fewer satellites, more memory, or less data",
        )
    elif data + EMPTY_DATA > here.tmpfs:
        wanted = -(-(data + data // 4 + EMPTY_DATA + (100 << 20)) // (1 << 20))
        yield Finding(
            group,
            BLOCKS,
            f"{what}; a satellite's tmpfs is {readable(here.tmpfs)}",
            "it could not clone",
            f"satellites.tmpfs: {wanted}m or more in multimed.yml, and memory to match (docs/install.md)",
        )
    else:
        yield Finding(group, OK, f"{what}; {here.satellites} satellites hold {readable(all_of_it)} of {readable(here.memory)}")


def share(part, whole):
    return f"{100 * part / whole:.0f} %" if whole else "-"


def load(asked, places):
    group = "load"
    if "digests" not in asked:
        yield asked.without(group, "which statements would move to satellites", "digests")
        return
    if places is None:
        yield Finding(group, UNCHECKED, "which statements would move to satellites", "no gate's image to ask", "make images")
        return
    if not places:
        yield Finding(
            group, NOTE, "performance_schema has counted no statement", "nothing is known of its load", "run it under the usual load"
        )
        return
    counts, times, reasons = collections.Counter(), collections.Counter(), collections.Counter()
    for (_, count, seconds), place in zip(asked["digests"], places):
        where, _, reason = place.partition("\t")
        counts[where] += count
        times[where] += seconds
        if where == "master":
            reasons[reason] += seconds
    whole, time = sum(counts.values()), sum(times.values())
    yield Finding(
        group,
        OK if times["satellite"] * 2 >= time else NOTE,
        f"statements that satellites may answer: {share(counts['satellite'], whole)} of {whole:.0f}, {share(times['satellite'], time)} of the time",
        "as the gate classifies them, outside read-write transactions; the rest stays on the one master",
        "",
    )
    if times["master"]:
        most = ", ".join(f"{reason} {share(seconds, time)}" for reason, seconds in reasons.most_common(5))
        yield Finding(group, NOTE, f"what stays on the master, by time: {most}", "", "")
    if "sample" not in asked:
        yield asked.without(group, "how many reads stand in read-write transactions", "sample")
        return
    reads, inside, read_only = asked["sample"][0]
    if not reads:
        yield Finding(group, UNCHECKED, "how many reads stand in transactions", "no session has read lately", "run it under the usual load")
    elif inside - read_only > reads / 10:
        yield Finding(
            group,
            NOTE,
            f"of the last {reads} reads {share(inside - read_only, reads)} stood in read-write transactions",
            "those stay on the master: autocommit is off, or they are not declared read-only",
            "declare read-only transactions (docs/connecting.md)",
        )
    else:
        yield Finding(group, OK, f"of the last {reads} reads {share(inside - read_only, reads)} stood in read-write transactions")


def report(found):
    """The findings for people, group by group, and a last line that counts them."""
    lines, group = [], None
    for each in found:
        if each.group != group:
            lines += [""] * bool(lines) + [each.group]
            group = each.group
        lines.append(f"  {each.level:<11}  {each.what}")
        lines += [f"  {'':<11}    {text}" for text in (each.means, each.do and f"do: {each.do}") if text]
    count = collections.Counter(each.level for each in found)
    lines += ["", f"{count[BLOCKS]} block, {count[NOTE]} notes, {count[OK]} OK, {count[UNCHECKED]} could not be checked"]
    return "\n".join(lines)
