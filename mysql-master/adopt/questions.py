"""What `make adopt` asks source and master, each answer one JSON value.

In:  nothing. Out: queries.
Must never: change anything, or read rows of the application's tables.
"""

from facts import ITSELF, SYSTEM

SCHEMAS = "(SELECT JSON_ARRAYAGG(schema_name) FROM information_schema.schemata)"
ACCOUNTS = "(SELECT JSON_ARRAYAGG(JSON_ARRAY(user, host)) FROM mysql.user)"

RIGHTS = f"SELECT JSON_ARRAYAGG(privilege_type) FROM information_schema.user_privileges WHERE grantee = {ITSELF}"

SOURCE = f"""SELECT JSON_OBJECT(
  'version', @@version, 'schemas', {SCHEMAS}, 'accounts', {ACCOUNTS},
  'privileges', ({RIGHTS}),
  'partial_revokes', EXISTS (SELECT 1 FROM mysql.user WHERE JSON_EXTRACT(user_attributes, '$.Restrictions') IS NOT NULL),
  'gtid_mode', @@gtid_mode, 'server_uuid', @@server_uuid, 'log_bin', CAST(@@log_bin AS CHAR), 'server_id', @@server_id,
  'binlog_format', @@global.binlog_format, 'binlog_row_image', @@global.binlog_row_image,
  'read_only', @@read_only, 'super_read_only', @@super_read_only, 'event_scheduler', @@event_scheduler,
  'tls', (SELECT variable_value <> '' FROM performance_schema.session_status WHERE variable_name = 'Ssl_cipher'))"""

OURS = """SELECT JSON_OBJECT(
  'version', @@version, 'schemas', %s, 'accounts', %s, 'partial_revokes', @@partial_revokes, 'server_id', @@server_id,
  'channel', (SELECT COUNT(*) FROM performance_schema.replication_connection_configuration), 'read_only', @@read_only,
  'event_scheduler', @@event_scheduler)""" % (SCHEMAS, ACCOUNTS)

# Base tables: schema, name, bytes as of now, and whether a FLOAT is in them, which a dump writes with six digits.
TABLES = f"""SET SESSION information_schema_stats_expiry = 0;
SELECT JSON_ARRAYAGG(JSON_ARRAY(t.table_schema, t.table_name, COALESCE(t.data_length, 0), EXISTS (
    SELECT 1 FROM information_schema.columns c WHERE c.table_schema = t.table_schema AND c.table_name = t.table_name
    AND c.data_type = 'float')))
  FROM information_schema.tables t WHERE t.table_type = 'BASE TABLE' AND t.table_schema NOT IN {SYSTEM}"""

# Of each schema the bytes of its base tables as of now, indexes included.
SIZES = f"""SET SESSION information_schema_stats_expiry = 0;
SELECT COALESCE(JSON_OBJECTAGG(table_schema, bytes), JSON_OBJECT()) FROM (
  SELECT table_schema, CAST(COALESCE(SUM(data_length + index_length), 0) AS SIGNED) AS bytes FROM information_schema.tables
  WHERE table_type = 'BASE TABLE' AND table_schema NOT IN {SYSTEM} GROUP BY table_schema) sizes"""

VIEWS = f"SELECT COALESCE(JSON_ARRAYAGG(JSON_ARRAY(table_schema, table_name)), JSON_ARRAY()) FROM information_schema.views WHERE table_schema NOT IN {SYSTEM}"

EVENTS = f"SELECT JSON_ARRAY(event_schema, event_name, definer) FROM information_schema.events WHERE event_schema NOT IN {SYSTEM}"

# A position of GTIDs and of the binlog that are one, as of a moment at which nobody commits.
POSITION = """SELECT JSON_OBJECT('gtid', REPLACE(local->>'$.gtid_executed', '\\n', ''), 'file', local->>'$.binary_log_file',
  'offset', local->'$.binary_log_position') FROM performance_schema.log_status"""
