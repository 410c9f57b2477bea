"""Is a satellite the same as the master? Byte for byte, and definition for definition.

In: the stack, names of tables and objects. Out: nothing, or an AssertionError that shows both sides. Must never:
compare at different positions: satellites are awaited first.
"""

import contextlib
import re
import threading

import pymysql


def quoted(name):
    return "`" + name.replace("`", "``") + "`"


def raw_rows(stack, service, query):
    """Rows as the bytes that the server keeps: no charset conversion, no driver in between. The connection is kept while it lasts."""
    kept = stack.__dict__.setdefault("raw_connections", {})
    place = threading.get_ident(), service
    for attempt in (1, 2):
        try:
            if place not in kept:
                kept[place] = raw_connection(stack, service)
            with kept[place].cursor() as cursor:
                cursor.execute(query)
                return list(cursor.fetchall())
        except pymysql.err.Error as error:
            with contextlib.suppress(Exception):
                kept.pop(place).close()
            if attempt == 2 or error.args[0] not in (0, 1053, 1927, 2006, 2013, 3169, 4031):
                raise


def raw_connection(stack, service):
    connection = stack.admin_connect(service, use_unicode=False, conv={})
    with connection.cursor() as cursor:
        cursor.execute("SET SESSION character_set_results=NULL, sql_mode='', time_zone='+00:00', print_identified_with_as_hex=ON")
    return connection


def exact(column, kind):
    """An expression that shows every bit of a value as text; NULL as NULL."""
    name = quoted(column)
    if kind == "json":
        return f"CONCAT_WS('|', JSON_TYPE({name}), JSON_STORAGE_SIZE({name}), CAST({name} AS CHAR))"
    if kind in ("float", "double"):
        return f"HEX(POINT({name} * 1e0, 0))"  # a point keeps its coordinates as they are in memory
    if kind in ("enum", "set"):
        return f"CONCAT({name} + 0, '|', HEX(CAST({name} AS BINARY)))"  # '' as a member and '' for an error differ in number only
    return f"HEX({name})" if kind in ("bit", "vector") else f"HEX(CAST({name} AS BINARY))"


def table_query(stack, schema, table):
    columns = stack.sql(
        "master",
        "SELECT column_name, LOWER(data_type) FROM information_schema.columns "
        "WHERE table_schema=%s AND table_name=%s ORDER BY ordinal_position",
        (schema, table),
    )
    assert columns, f"no table {schema}.{table} on the master"
    return f"SELECT {', '.join(exact(name, kind) for name, kind in columns)} FROM {quoted(schema)}.{quoted(table)}"


def assert_same_rows(stack, schema, *tables):
    """Every row of these tables (default: all of the schema), invisible and generated columns included."""
    stack.await_satellites()
    for table in tables or base_tables(stack, "master", schema):
        query = table_query(stack, schema, table)
        expected = sorted(raw_rows(stack, "master", query), key=repr)
        for service in stack.satellites:
            assert sorted(raw_rows(stack, service, query), key=repr) == expected, f"{schema}.{table} on {service}"


def base_tables(stack, service, schema):
    return [
        row[0]
        for row in stack.sql(
            service,
            "SELECT table_name FROM information_schema.tables WHERE table_schema=%s AND table_type='BASE TABLE' ORDER BY 1",
            (schema,),
        )
    ]


def assert_same_answer(stack, query):
    """The same answer to one statement on master and satellites; returns it."""
    stack.await_satellites()
    expected = raw_rows(stack, "master", query)
    for service in stack.satellites:
        assert raw_rows(stack, service, query) == expected, f"{query} on {service}"
    return expected


def assert_same_schema(stack, schema):
    """Objects, definitions and rows of a schema."""
    stack.await_satellites()
    assert_same_answer(stack, f"SHOW CREATE DATABASE {quoted(schema)}")
    objects = assert_same_answer(
        stack, f"SELECT table_name, table_type FROM information_schema.tables WHERE table_schema='{schema}' ORDER BY 1"
    )
    for name, _ in objects:
        assert_same_definition(stack, f"{quoted(schema)}.{quoted(name.decode())}")
    routines = assert_same_answer(
        stack,
        "SELECT routine_type, routine_name, routine_definition, sql_mode, definer, "
        "character_set_client, collation_connection, database_collation, created, last_altered "
        f"FROM information_schema.routines WHERE routine_schema='{schema}' ORDER BY 1, 2",
    )
    for kind, name, *_ in routines:
        assert_same_answer(stack, f"SHOW CREATE {kind.decode()} {quoted(schema)}.{quoted(name.decode())}")
    assert_same_rows(stack, schema)


def assert_same_definition(stack, table):
    """SHOW CREATE TABLE, but for the counter of the next value, which is the master's business, and for whether a character set's default
    collation was written out when the table was made: the binlog writes it out for CREATE TABLE … SELECT."""
    defaults = {
        name.encode(): collation.encode()
        for name, collation in stack.sql("master", "SELECT character_set_name, default_collate_name FROM information_schema.character_sets")
    }

    def definition(service):
        shown = raw_rows(stack, service, f"SHOW CREATE TABLE {table}")[0]
        shown = [re.sub(rb" AUTO_INCREMENT=\d+", b"", part or b"") for part in shown]
        return [
            re.sub(rb"( CHARACTER SET (\w+)) COLLATE (\w+)", lambda m: m[1] if defaults[m[2]] == m[3] else m[0], part) for part in shown
        ]

    for service in stack.satellites:
        assert definition(service) == definition("master"), f"{table} on {service}"


def assert_same_account(stack, account):
    """An account's definition, password included, and its grants."""
    assert_same_answer(stack, f"SHOW CREATE USER {account}")
    return assert_same_answer(stack, f"SHOW GRANTS FOR {account}")
