"""What `make adopt` decides before and while it moves an existing MySQL. Pure.

In:  what source and master have answered. Out: mistakes, shares of the load, statements for both servers.
Must never: ask a server; lose a word about what is left out.
"""

import re

SYSTEM = ("mysql", "sys", "performance_schema", "information_schema", "ndbinfo")
SYSTEM_USERS = ("root", "debian-sys-maint")
NEEDED = ("SELECT", "SHOW VIEW", "TRIGGER", "EVENT", "PROCESS", "RELOAD", "BACKUP_ADMIN", "REPLICATION CLIENT")
NEEDED_TO_FOLLOW = ("REPLICATION SLAVE",)
NEEDED_TO_GO_BACK = ("SYSTEM_VARIABLES_ADMIN", "REPLICATION_SLAVE_ADMIN", "CONNECTION_ADMIN")
# What bypasses the binlog or writes files: given by hand to whom the operator trusts with that (findings.py says so, too).
WITHHELD = ("SUPER", "SYSTEM_VARIABLES_ADMIN", "SESSION_VARIABLES_ADMIN", "BINLOG_ADMIN", "REPLICATION_APPLIER", "FILE")
CHANNEL = "adopt"
PASSWORD_MOST = 32
# Rows that are inserted in the order of their key leave pages and indexes up to a third less full than there; redo, undo and temporary tables
# grow meanwhile. Dumps are never on the disk, and the load is in no binlog and so not in Kafka's log.
ROOM_FACTOR = 1.5


def quoted(name):
    return "`" + name.replace("`", "``") + "`"


def text(value):
    """A string literal, whatever the sql_mode."""
    return "_utf8mb4 X'" + value.encode().hex() + "'" if value else "''"


def literal(value):
    """A plain string literal, for statements that take no other."""
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def account(user, host):
    return f"{quoted(user)}@{quoted(host)}"


def address(host, port):
    """As run takes it: an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def host_and_port(address):
    host, _, port = address.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), port


def own_account(user, mine):
    """Accounts that stay where they are: the system's, and the one that this move uses."""
    return user in SYSTEM_USERS or user.startswith(("mysql.", "multimed_")) or user == mine


def wanted_schemas(there, wanted):
    return sorted(name for name in there if name not in SYSTEM and (not wanted or name in wanted))


def mistakes(source, ours, wanted, follow, begun, mine):
    """Everything that keeps the load from beginning. mine: the account that reads there; begun: schemas that an unfinished load made, and
    accounts that earlier loads made."""
    for name in wanted:
        if name not in source["schemas"]:
            yield f"DB: the server has no schema {name}"
    schemas = wanted_schemas(source["schemas"], wanted)
    if not schemas and not wanted:
        yield "the server has no schema to load"
    for name in sorted(set(schemas) & set(ours["schemas"]) - set(begun["schemas"])):
        yield f"schema {name} is here already: drop it, or leave it out with DB="
    made = {tuple(each) for each in begun["accounts"]}
    for user, host in source["accounts"]:
        if not own_account(user, mine) and [user, host] in ours["accounts"] and (user, host) not in made:
            yield f"account {user}@{host} is here already: drop it here, or rename one of them"
    if source["partial_revokes"] and not ours["partial_revokes"]:
        yield "accounts there have partial revokes: partial_revokes=ON in mysql-master/conf.d and mysql-satellite/conf.d first"
    if ours["channel"]:
        yield "our master follows a server already: make adopt STATUS=1"
    if ours["read_only"]:
        yield "our master is read-only"
    if follow:
        yield from mistakes_of_following(source, ours)


def too_little_room(sizes, schemas, free):
    """sizes: {schema: bytes} there; free: bytes where our master's data lie, which an unfinished load's are about to leave."""
    there = sum(sizes.get(name, 0) for name in schemas)
    if there * ROOM_FACTOR > free:
        yield (
            f"the schemas have {there / 2**30:.1f} GiB there, and need {ROOM_FACTOR} times that here while they are loaded; "
            f"{free / 2**30:.1f} GiB are free where our master's data lie: make room, or load some of them (DB=)"
        )


def mistakes_of_more(schemas, where, source, follow):
    """What keeps a load from coming to finished ones. schemas: theirs; where: they came from; source: of this load."""
    if schemas and (follow or where != source):
        yield (
            f"{', '.join(schemas)} came from {where} before, and {'FOLLOW=1 follows the whole server' if follow else 'this is another server'}: "
            "make adopt CANCEL=keep leaves that here and forgets it, CANCEL=drop drops it"
        )


def missing_rights(privileges, needed):
    lacks = [each for each in needed if each not in privileges]
    if lacks:
        yield f"the account lacks {', '.join(lacks)} on *.*: GRANT them"


def mistakes_of_following(source, ours):
    for name, usual in (("log_bin", "1"), ("binlog_format", "ROW"), ("binlog_row_image", "FULL")):
        if source[name] != usual:
            yield f"FOLLOW=1 needs {name}={'ON' if usual == '1' else usual} there, it is {source[name]}"
    if source["gtid_mode"] not in ("ON", "OFF"):
        yield f"FOLLOW=1 needs gtid_mode ON or OFF there, it is {source['gtid_mode']}"
    if source["server_id"] in (0, ours["server_id"]):
        yield f"FOLLOW=1 needs another server_id there than {source['server_id']}: SET PERSIST server_id, or set it in mysql-master/conf.d"


def unfit_password(password):
    length = len(password.encode())
    if length > PASSWORD_MOST:
        yield f"FOLLOW=1: a replication account's password has at most {PASSWORD_MOST} bytes, this one has {length}: give it a shorter one"


def mistakes_of_starting(source, state, follow):
    """What keeps from following what was loaded before. state: of that load."""
    if not follow:
        yield "what was loaded is to be followed: FOLLOW=1, or make adopt CANCEL=keep first"
    if source["server_uuid"] != state["server_uuid"]:
        yield f"that is not the server from which it was loaded ({state['source']}): CANCEL=drop removes what was loaded"


def deal(tables, workers):
    """Shares of tables (schema, name, bytes) by size: the biggest first, to whom has least."""
    shares = [[] for _ in range(min(workers, max(1, len(tables))))]
    loads = [0] * len(shares)
    for table in sorted(tables, key=lambda each: (-each[2], each)):
        least = loads.index(min(loads))
        shares[least].append(table)
        # A table without rows takes its time, too.
        loads[least] += table[2] + 65536
    return shares


def ignoring(tables):
    """Lines of mysqldump's option file that leave out these tables (schema, name, …)."""
    return "".join(f'ignore-table="{escaped(schema)}.{escaped(name)}"\n' for schema, name, *_ in tables)


def escaped(value):
    return value.replace("\\", "\\\\").replace('"', '\\"')


# --- accounts -------------------------------------------------------------------------------------------------------

NAME = r"`(?:[^`]|``)*`"
DEFAULT_ROLE = re.compile(rf" DEFAULT ROLE ({NAME}@{NAME}(?:,{NAME}@{NAME})*)(?= )")
GLOBAL_GRANT = re.compile(rf"GRANT (.*) ON \*\.\* TO ({NAME}@{NAME})( WITH GRANT OPTION)?$")
# GRANT … ON `schema`.`table`, and on routines; ON `schema`.* names only what it may be used for, which need not be there.
OBJECT = re.compile(rf" ON (?:(?:FUNCTION|PROCEDURE) )?({NAME})\.{NAME} TO ")
ROLE_GRANT = re.compile(rf"GRANT {NAME}@{NAME}")


def version_of(text):
    """8.0.15-log -> (8, 0, 15)"""
    return tuple(int(part) for part in re.match(r"(\d+)\.(\d+)\.(\d+)", text).groups())


HASH = re.compile(r" AS '.*?' (?=REQUIRE )", re.DOTALL)


def with_hash(statement, hash_as_hex):
    """SHOW CREATE USER of a version that prints the bytes of a password's hash: with these in hexadecimal."""
    return HASH.sub(f" AS 0x{hash_as_hex} ", statement, count=1)


def create_user(statement):
    """(statement without default roles, the default roles or None): roles may be made later than those who have them."""
    found = DEFAULT_ROLE.search(statement)
    if not found:
        return statement, None
    return statement[: found.start()] + statement[found.end() :], found[1]


def grants(statements, known, schemas):
    """(statements to run, what is left out of them). known: privileges of our master; schemas: None for all."""
    kept, left_out = [], []
    for statement in statements:
        found, named = GLOBAL_GRANT.match(statement), OBJECT.search(statement)
        if found:
            names = re.split(", ?", found[1])
            left_out += [name for name in names if name in WITHHELD or name not in known]
            names = [name for name in names if name not in left_out]
            if names:
                kept.append(f"GRANT {', '.join(names)} ON *.* TO {found[2]}{found[3] or ''}")
        elif named and schemas is not None and named[1][1:-1].replace("``", "`") not in schemas:
            left_out.append(statement.split(" TO ")[0].removeprefix("GRANT "))
        else:
            kept.append(statement)
    # Roles last: a grant of one changes nothing of what comes before, and all of them are there by then.
    return sorted(kept, key=lambda each: bool(ROLE_GRANT.match(each))), left_out


ON_SCHEMA = re.compile(rf"GRANT .* ON (?:(?:FUNCTION|PROCEDURE) )?({NAME})\.(\*|{NAME}) TO ")


def grants_on(statements, schemas):
    """Of these grants those on one of these schemas, or on what is in it."""
    for statement in statements:
        found = ON_SCHEMA.match(statement)
        if found:
            name, whole = found[1][1:-1].replace("``", "`"), found[2] == "*"
            # On a whole schema the name is a pattern.
            if any(like(name, each) if whole else name == each for each in schemas):
                yield statement


def like(pattern, name):
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    return re.fullmatch("".join({"%": ".*", "_": "."}.get(each, re.escape(each[-1])) for each in parts), name, re.DOTALL) is not None


# --- statements -----------------------------------------------------------------------------------------------------


def follow(source, host, port, user, password, position, tls):
    """Our master becomes a replica of the source, from the snapshot's position on."""
    where = (
        "SOURCE_AUTO_POSITION = 1"
        if source["gtid_mode"] == "ON"
        else f"SOURCE_AUTO_POSITION = 0, SOURCE_LOG_FILE = {literal(position['file'])}, SOURCE_LOG_POS = {position['offset']}, "
        "ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS = LOCAL"
    )
    return (
        f"CHANGE REPLICATION SOURCE TO SOURCE_HOST = {literal(host)}, SOURCE_PORT = {port}, SOURCE_USER = {literal(user)}, "
        f"SOURCE_PASSWORD = {literal(password)}, {where}, SOURCE_SSL = {int(tls)}, GET_SOURCE_PUBLIC_KEY = 1, "
        f"SOURCE_CONNECT_RETRY = 5, SOURCE_RETRY_COUNT = 0 FOR CHANNEL '{CHANNEL}';\nSTART REPLICA FOR CHANNEL '{CHANNEL}';\n"
    )


def purge(marker, gtid_set=""):
    """Makes the load a part of our master's GTID set: satellites lack it, and clone. Read by capture as any GTID without an event."""
    return (
        f"SET GLOBAL gtid_purged = CONCAT_WS(',', '+{marker}:1', NULLIF(GTID_SUBTRACT({literal(gtid_set)}, @@global.gtid_executed), ''));\n"
    )


def go_back(host, port, password, account_there, others, at):
    """The old server becomes our replica: what is ours up to the cutover it has, our other schemas it ignores."""
    ignored = ", ".join(literal(pattern(name) + ".%") for name in ("mysql", "sys", *others))
    return (
        f"SET @missing = GTID_SUBTRACT({literal(at)}, @@global.gtid_executed);\n"
        "SET @purge = IF(@missing = '', 'DO 0', CONCAT('SET GLOBAL gtid_purged = ''+', @missing, ''''));\n"
        "PREPARE statement FROM @purge; EXECUTE statement; DEALLOCATE PREPARE statement;\n"
        f"CHANGE REPLICATION SOURCE TO SOURCE_HOST = {literal(host)}, SOURCE_PORT = {port}, SOURCE_USER = {literal(account_there)}, "
        f"SOURCE_PASSWORD = {literal(password)}, SOURCE_AUTO_POSITION = 1, SOURCE_SSL = 1, GET_SOURCE_PUBLIC_KEY = 1, "
        "SOURCE_CONNECT_RETRY = 5, SOURCE_RETRY_COUNT = 0 FOR CHANNEL 'multimed';\n"
        f"CHANGE REPLICATION FILTER REPLICATE_WILD_IGNORE_TABLE = ({ignored}) FOR CHANNEL 'multimed';\n"
        "START REPLICA FOR CHANNEL 'multimed';\n"
    )


def pattern(schema):
    return re.sub(r"([_%])", r"\\\1", schema)


def channel_error(status):
    """What keeps a channel (SHOW REPLICA STATUS as a dict) from going on, or ''."""
    errors = [status.get(name, "") for name in ("Last_IO_Error", "Last_SQL_Error")]
    return "; ".join(each for each in errors if each)


def channel_runs(status):
    return status["Replica_IO_Running"] == status["Replica_SQL_Running"] == "Yes" and not channel_error(status)


def channel_line(status):
    """One line on how the channel stands."""
    behind = status.get("Seconds_Behind_Source")
    running = f"receiver {status['Replica_IO_Running']}, applier {status['Replica_SQL_Running']}"
    return f"{running}, {'unknown' if behind in (None, 'NULL') else behind} s behind" + (
        f", error: {channel_error(status)}" if channel_error(status) else ""
    )


def events_stay_off(rows, version):
    """Events (schema, name, definer) that are here, and do not run while the source's do. ALTER EVENT would change the definer."""
    where = "REPLICA" if version_of(version) >= (8, 2) else "SLAVE"
    for schema, name, definer in rows:
        user, _, host = definer.rpartition("@")
        yield f"ALTER DEFINER = {account(user, host)} EVENT {quoted(schema)}.{quoted(name)} DISABLE ON {where}"


def blocks(report):
    """Of precheck's report what blocks: the finding and what to do, on one line each."""
    found = []
    for line in report.splitlines():
        if line.startswith("  blocks "):
            found.append(line.split(None, 1)[1])
        elif found and found[-1] is not None and line.startswith(" " * 15):
            found[-1] += "; " + line.strip()
        else:
            found.append(None)
    return [each for each in found if each]
