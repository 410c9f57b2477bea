"""What `make precheck` asks an existing MySQL, and how it reads the answers.

In:  nothing, or what the mysql client printed of these queries. Out: the queries as one script; the answers by name.
Must never: change anything there, or read rows of the application's tables.

A section begins with a line `== NAME`. A row is a JSON array, so that no value can be taken for anything else; a line `ERROR …` is why the
section has no answer. The section `ours` is what mysqld says of our master's settings.
"""

import json
import re

SYSTEM = "('mysql', 'sys', 'performance_schema', 'information_schema', 'ndbinfo')"
ITSELF = """CONCAT("'", SUBSTRING_INDEX(CURRENT_USER(), '@', 1), "'@'", SUBSTRING_INDEX(CURRENT_USER(), '@', -1), "'")"""

# Of sessions' last statements: the reads, those of them in a transaction, those in one that is declared read-only.
SAMPLE = """SELECT JSON_ARRAY(COUNT(*), COUNT(t.event_id), COALESCE(SUM(t.access_mode = 'READ ONLY'), 0))
FROM performance_schema.events_statements_history s LEFT JOIN (
  SELECT thread_id, event_id, access_mode FROM performance_schema.events_transactions_current WHERE autocommit = 'NO'
  UNION SELECT thread_id, event_id, access_mode FROM performance_schema.events_transactions_history WHERE autocommit = 'NO') t
ON t.thread_id = s.thread_id AND t.event_id = s.nesting_event_id AND s.nesting_event_type = 'TRANSACTION'
WHERE s.event_name = 'statement/sql/select' AND s.current_schema IS NOT NULL
AND s.thread_id <> (SELECT thread_id FROM performance_schema.threads WHERE processlist_id = CONNECTION_ID())"""

QUERIES = {
    # Without JSON_ARRAY, which a server that is too old lacks.
    "version": """SELECT CONCAT('["', @@version, '", "', REPLACE(REPLACE(@@version_comment, CHAR(92), ''), '"', ''), '"]')""",
    "variables": "SELECT JSON_ARRAY(LOWER(variable_name), variable_value) FROM performance_schema.global_variables",
    "status": "SELECT JSON_ARRAY(LOWER(variable_name), variable_value) FROM performance_schema.global_status WHERE variable_name IN "
    "('Uptime', 'Com_load', 'Com_xa_start', 'Com_xa_commit', 'Com_commit', 'Com_rollback', 'Com_lock_tables', 'Com_select')",
    "privileges": f"SELECT JSON_ARRAY(privilege_type) FROM information_schema.user_privileges WHERE grantee = {ITSELF}",
    "schemas": "SELECT JSON_ARRAY(table_schema, COUNT(*), COALESCE(SUM(data_length + index_length), 0)) FROM information_schema.tables "
    f"WHERE table_schema NOT IN {SYSTEM} AND table_type = 'BASE TABLE' GROUP BY table_schema",
    "engines": "SELECT JSON_ARRAY(table_schema, table_name, engine) FROM information_schema.tables "
    f"WHERE table_schema NOT IN {SYSTEM} AND table_type = 'BASE TABLE' AND COALESCE(engine, '') <> 'InnoDB'",
    "no_key": "SELECT JSON_ARRAY(t.table_schema, t.table_name) FROM information_schema.tables t "
    "LEFT JOIN information_schema.table_constraints c ON c.table_schema = t.table_schema AND c.table_name = t.table_name "
    f"AND c.constraint_type = 'PRIMARY KEY' WHERE t.table_schema NOT IN {SYSTEM} AND t.table_type = 'BASE TABLE' "
    "AND c.constraint_name IS NULL",
    "encrypted": "SELECT JSON_ARRAY(table_schema, table_name) FROM information_schema.tables "
    f"WHERE table_schema NOT IN {SYSTEM} AND create_options RLIKE 'encryption=.?Y'",
    "types": "SELECT JSON_ARRAY(table_schema, table_name, GROUP_CONCAT(DISTINCT data_type)) FROM information_schema.columns "
    f"WHERE table_schema NOT IN {SYSTEM} AND (data_type IN ('json', 'enum', 'set', 'bit', 'year', 'vector', 'geometry', 'point', "
    "'linestring', 'polygon', 'multipoint', 'multilinestring', 'multipolygon', 'geometrycollection', 'geomcollection') "
    "OR character_set_name NOT IN ('utf8mb4', 'utf8mb3', 'utf8', 'ascii')) GROUP BY table_schema, table_name",
    "generated": "SELECT DISTINCT JSON_ARRAY(table_schema, table_name) FROM (SELECT table_schema, table_name FROM information_schema.columns "
    "WHERE generation_expression <> '' UNION SELECT table_schema, table_name FROM information_schema.table_constraints "
    f"WHERE constraint_type = 'CHECK') computing WHERE table_schema NOT IN {SYSTEM}",
    "cascades": "SELECT JSON_ARRAY(constraint_schema, table_name) FROM information_schema.referential_constraints "
    "WHERE delete_rule IN ('CASCADE', 'SET NULL') OR update_rule IN ('CASCADE', 'SET NULL')",
    "triggers": f"SELECT JSON_ARRAY(trigger_schema, trigger_name) FROM information_schema.triggers WHERE trigger_schema NOT IN {SYSTEM}",
    "events": f"SELECT JSON_ARRAY(event_schema, event_name) FROM information_schema.events WHERE event_schema NOT IN {SYSTEM}",
    "tablespaces": "SELECT JSON_ARRAY(SUBSTRING_INDEX(t.name, '/', 1), SUBSTRING_INDEX(t.name, '/', -1), s.name) "
    "FROM information_schema.innodb_tables t JOIN information_schema.innodb_tablespaces s ON s.space = t.space "
    "WHERE s.space_type = 'General' AND s.name <> 'mysql'",
    "elsewhere": "SELECT JSON_ARRAY(s.name, f.path) FROM information_schema.innodb_tablespaces s "
    "JOIN information_schema.innodb_datafiles f ON f.space = s.space WHERE s.space_type = 'Single' AND f.path NOT LIKE './%'",
    "own_indexes": "SELECT DISTINCT JSON_ARRAY(table_schema, table_name, index_name) FROM information_schema.statistics "
    f"WHERE table_schema NOT IN {SYSTEM} AND index_name LIKE 'multimed\\\\_own\\\\_%'",
    "functions": "SELECT JSON_ARRAY(name, dl) FROM mysql.func",
    "plugins": "SELECT JSON_ARRAY(plugin_name) FROM information_schema.plugins WHERE plugin_library IS NOT NULL AND plugin_status = 'ACTIVE'",
    "components": "SELECT JSON_ARRAY(component_urn) FROM mysql.component",
    "users": "SELECT JSON_ARRAY(user, host, plugin, CAST(ssl_type AS CHAR), account_locked = 'Y' AND authentication_string = '') FROM mysql.user",
    "definers": "SELECT JSON_ARRAY(kind, name, definer) FROM ("
    "SELECT 'view' kind, CONCAT(table_schema, '.', table_name) name, definer FROM information_schema.views "
    f"WHERE table_schema NOT IN {SYSTEM} UNION ALL SELECT 'routine', CONCAT(routine_schema, '.', routine_name), definer "
    f"FROM information_schema.routines WHERE routine_schema NOT IN {SYSTEM} UNION ALL "
    f"SELECT 'trigger', CONCAT(trigger_schema, '.', trigger_name), definer FROM information_schema.triggers "
    f"WHERE trigger_schema NOT IN {SYSTEM} UNION ALL SELECT 'event', CONCAT(event_schema, '.', event_name), definer "
    f"FROM information_schema.events WHERE event_schema NOT IN {SYSTEM}) d "
    "WHERE CONVERT(definer USING utf8mb4) COLLATE utf8mb4_bin NOT IN "
    "(SELECT CONVERT(CONCAT(user, '@', host) USING utf8mb4) COLLATE utf8mb4_bin FROM mysql.user)",
    "powers": "SELECT JSON_ARRAY(grantee, GROUP_CONCAT(privilege_type)) FROM information_schema.user_privileges WHERE privilege_type IN "
    "('SUPER', 'SYSTEM_VARIABLES_ADMIN', 'SESSION_VARIABLES_ADMIN', 'BINLOG_ADMIN', 'REPLICATION_APPLIER', 'FILE') GROUP BY grantee",
    "sample": SAMPLE,
    "digests": "SELECT JSON_ARRAY(digest_text, SUM(count_star), SUM(sum_timer_wait) / 1e12) "
    f"FROM performance_schema.events_statements_summary_by_digest WHERE digest_text IS NOT NULL AND schema_name NOT IN {SYSTEM} "
    "GROUP BY digest, digest_text ORDER BY SUM(sum_timer_wait) DESC LIMIT 10000",
}


# With it the client logs in, or not at all: it can change nothing. MySQL has it since 5.6, MariaDB, too.
FIRST = "SET SESSION TRANSACTION READ ONLY"
# One by one: another version may lack any of them. Statistics of tables are read afresh, not from a cache that reading would fill.
SESSION = {
    "sql_mode": "''",
    "lock_wait_timeout": 5,
    "max_execution_time": 60000,
    "information_schema_stats_expiry": 0,
    "group_concat_max_len": 65536,
}


def script():
    """For one session, which has begun with FIRST."""
    settings = ["SELECT '== session';", *(f"SET SESSION {name} = {value};" for name, value in SESSION.items())]
    sections = [f"SELECT '== {name}';\n{' '.join(query.split())};" for name, query in QUERIES.items()]
    return "\n".join([*settings, *sections, "SELECT '== end';", ""])


def parse(text):
    """({name: rows}, {name: why there are none}, {setting: value of our master})."""
    rows, errors, ours, name = {}, {}, {}, "connection"
    # Only a newline ends a row: names and digests may hold what splitlines takes for one.
    for line in text.removesuffix("\n").split("\n"):
        if line.startswith("== "):
            name = line[3:]
            rows[name] = []
        elif line.startswith("ERROR "):
            errors[name] = re.sub(r"^ERROR (\d+) \(\w+\)(?: at line \d+)?: ", r"\1: ", line)
        elif name == "greeting":
            rows[name].append([line])
        elif name == "ours":
            variable, _, value = line.partition(" ")
            ours[variable.replace("-", "_")] = value.strip()
        elif line.startswith("["):
            rows[name].append(json.loads(line))
    return {name: each for name, each in rows.items() if name not in errors}, errors, ours


def statement(digest_text):
    """A digest's text as a statement that can be classified. A digest has a blank between a function's name and its parenthesis, quotes the
    name, and shortens lists to three dots; three dots at its end mean that the server has cut it: those stay, and are not understood."""
    text = re.sub(r"`(\w+)` \(", r"\1(", digest_text)
    text = re.sub(r"\b([A-Z_]+) \(", r"\1(", text)
    return re.sub(r"\.\.\.(?!$)", "?", text.replace("?, ...", "?, ?")).replace("\n", " ")
