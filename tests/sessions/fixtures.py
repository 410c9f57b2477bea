"""What sequences find on both sides: schemas, tables, programs, views; and how they are put back after a sequence.

In:  a name that no other worker has. Out: statements. Identical on both sides.
Must never: depend on what a sequence did, but for what `Touched` says.
"""

import enum


class Touched(enum.Flag):
    """What a command may leave behind."""

    NOTHING = 0
    ROWS = enum.auto()
    COUNTER = enum.auto()
    DROPPABLE = enum.auto()


class Names:
    """The schemas of one worker. `first` has everything; the others have tables of the same names with other values."""

    def __init__(self, worker):
        self.first, self.second = f"{worker}a", f"{worker}b"
        self.accented, self.digit, self.dollar = f"{worker}_é", f"1{worker}", f"${worker}"
        self.droppable = f"{worker}d"
        self.lock = f"{worker}lock"

    @property
    def lasting(self):
        return (self.first, self.second, self.accented, self.digit, self.dollar)


OTHER_ACCOUNT = "fuzz_other"
PASSWORD = b"fuzz"
ACCOUNTS = ("fuzz", OTHER_ACCOUNT, "fuzz_é", "fuzz_expired")
# It may read and write as long as its role is on.
ROLE_ACCOUNT, ROLE = "fuzz_role", "fuzz_reader"


def accounts():
    """For one administrator of a server; once."""
    made = [f"CREATE USER IF NOT EXISTS '{name}' IDENTIFIED BY '{PASSWORD.decode()}'" for name in ACCOUNTS]
    granted = [f"GRANT ALL ON *.* TO '{name}'" for name in ACCOUNTS]
    role = [
        f"CREATE ROLE IF NOT EXISTS {ROLE}",
        f"GRANT ALL ON *.* TO {ROLE}",
        f"CREATE USER IF NOT EXISTS {ROLE_ACCOUNT} IDENTIFIED BY '{PASSWORD.decode()}' DEFAULT ROLE {ROLE}",
        f"GRANT {ROLE} TO {ROLE_ACCOUNT}",
        f"ALTER USER {ROLE_ACCOUNT} DEFAULT ROLE {ROLE}",
    ]
    return [*made, *granted, *role, "ALTER USER fuzz_expired PASSWORD EXPIRE"]


def tables(schema, factor):
    return [
        f"CREATE TABLE `{schema}`.t (id INT PRIMARY KEY, v INT, s VARCHAR(20))",
        f"INSERT INTO `{schema}`.t VALUES {rows(factor)}",
        f"CREATE TABLE `{schema}`.ts (id INT PRIMARY KEY, at TIMESTAMP NULL)",
        f"INSERT INTO `{schema}`.ts VALUES (1, FROM_UNIXTIME({86400 * factor})), (2, FROM_UNIXTIME(1700000000))",
    ]


def rows(factor):
    return f"(1, {factor}, 'one'), (2, {2 * factor}, 'Two'), (3, {3 * factor}, 'drei é')"


# Of the lasting schemas, then of the one that may be dropped.
FACTORS = (10, 100, 1000, 7, 9, 5)


def build(names):
    """Everything, anew."""
    statements = ["SET NAMES utf8mb4"]
    for schema, factor in zip(names.lasting, FACTORS):
        statements += [f"DROP DATABASE IF EXISTS `{schema}`", f"CREATE DATABASE `{schema}`", *tables(schema, factor)]
    return statements + droppable(names) + [f"USE {names.first}", *programs(names), *views(names)] + [
        f"CREATE FUNCTION {names.second}.p() RETURNS INT NO SQL RETURN 1",
        f"CREATE VIEW {names.second}.pv AS SELECT * FROM {names.second}.t WHERE id = {names.second}.p()",
        f"CREATE PROCEDURE {names.second}.pset(x VARCHAR(20)) SET @z = CONCAT('b', x)",
    ]  # fmt: skip


def remove(names):
    return [f"DROP DATABASE IF EXISTS `{schema}`" for schema in (*names.lasting, names.droppable, names.droppable.upper())]


def droppable(names):
    """Anew; in capitals, which a sequence may write it in, it is another one."""
    return [
        f"DROP DATABASE IF EXISTS {names.droppable.upper()}",
        f"DROP DATABASE IF EXISTS {names.droppable}",
        f"CREATE DATABASE {names.droppable} CHARACTER SET latin1",
        f"CREATE TABLE {names.droppable}.t (id INT PRIMARY KEY, v INT, s VARCHAR(20))",
        f"INSERT INTO {names.droppable}.t VALUES {rows(FACTORS[-1])}",
    ]


def programs(names):
    function = "CREATE FUNCTION {} RETURNS INT {}".format
    return [
        "CREATE TABLE ai (id INT AUTO_INCREMENT PRIMARY KEY, v INT)",
        "CREATE TABLE o (id INT PRIMARY KEY)",
        f"CREATE TABLE {names.first}.2024 (id INT PRIMARY KEY)",
        "CREATE TABLE tg (id INT PRIMARY KEY)",
        "CREATE TABLE tz (id INT PRIMARY KEY)",
        "CREATE TABLE tt_base (id INT PRIMARY KEY)",
        "CREATE TRIGGER tg_sets BEFORE INSERT ON tg FOR EACH ROW SET @p = 3, @w = NEW.id",
        "CREATE TRIGGER tz_sets BEFORE INSERT ON tz FOR EACH ROW SET time_zone = '+07:00', @w = NEW.id",
        "CREATE TABLE tl (id INT PRIMARY KEY)",
        f"CREATE TRIGGER tl_locks BEFORE INSERT ON tl FOR EACH ROW SET @w = GET_LOCK('{names.lock}', 0)",
        function("p()", "NO SQL RETURN @p"),
        function("dropsrole()", "NO SQL BEGIN SET ROLE NONE; RETURN 1; END"),
        function("gd()", "NO SQL BEGIN DECLARE n INT; GET DIAGNOSTICS n = NUMBER; RETURN n; END"),
        function("plus(n INT)", "DETERMINISTIC NO SQL RETURN n + 1"),
        function("lid()", "NO SQL RETURN LAST_INSERT_ID()"),
        function("rc()", "NO SQL RETURN ROW_COUNT()"),
        function("largest()", "READS SQL DATA RETURN (SELECT MAX(v) FROM t)"),
        function("mk()", "BEGIN CREATE TEMPORARY TABLE IF NOT EXISTS tt (x INT); INSERT INTO tt VALUES (7); RETURN 1; END"),
        function("mkt()", "BEGIN CREATE TEMPORARY TABLE IF NOT EXISTS t (id INT PRIMARY KEY, v INT, s VARCHAR(20)); RETURN 1; END"),
        function("setp(n INT)", "NO SQL BEGIN SET @p = n; RETURN n; END"),
        function("settz()", "NO SQL BEGIN SET time_zone = '+03:00'; RETURN 1; END"),
        function("setmode()", "NO SQL BEGIN SET sql_mode = 'PIPES_AS_CONCAT,ANSI_QUOTES'; RETURN 1; END"),
        function("setcs()", "NO SQL BEGIN SET collation_connection = latin1_bin; RETURN 1; END"),
        function("setts()", "NO SQL BEGIN SET timestamp = 86400; RETURN 1; END"),
        function("setlid()", "NO SQL RETURN LAST_INSERT_ID(77)"),
        function("bad()", "NO SQL BEGIN SET @p = 2; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'bad'; RETURN 1; END"),
        function("badread()", "READS SQL DATA BEGIN DECLARE n INT; SELECT COUNT(*) INTO n FROM o; SIGNAL SQLSTATE '45000'; RETURN n; END"),
        function("warns()", "NO SQL BEGIN DECLARE n INT; SET n = CAST('1x' AS SIGNED); SIGNAL SQLSTATE '01000' SET MESSAGE_TEXT = 'w'; RETURN 1; END"),
        "CREATE FUNCTION tzf() RETURNS VARCHAR(500) NO SQL RETURN CONCAT_WS(' ', @@time_zone, @@sql_mode, DATABASE(), CRC32(@@optimizer_switch))",
        function("gl()", f"NO SQL RETURN GET_LOCK('{names.lock}', 0)"),
        function("sharing()", "READS SQL DATA BEGIN DECLARE n INT; SELECT COUNT(*) INTO n FROM t FOR SHARE; RETURN n; END"),
        "CREATE PROCEDURE pset(x VARCHAR(20)) SET @z = x, @p = CHAR_LENGTH(x)",
        "CREATE PROCEDURE pmk() CREATE TEMPORARY TABLE IF NOT EXISTS tt (x INT)",
        "CREATE PROCEDURE pmkt() CREATE TEMPORARY TABLE IF NOT EXISTS t (id INT PRIMARY KEY, v INT, s VARCHAR(20)) SELECT 50 id, 1 v, 'p' s",
        "CREATE PROCEDURE ptz() SET time_zone = '-04:00'",
        "CREATE PROCEDURE pread() SELECT * FROM t",
        "CREATE PROCEDURE ptwo() BEGIN SELECT 1 AS one; SELECT id FROM t ORDER BY id; END",
        "CREATE PROCEDURE pfail() BEGIN SET @p = 1; INSERT INTO t VALUES (1, 1, 'x'); END",
        "CREATE PROCEDURE pbegin() BEGIN START TRANSACTION; INSERT INTO t VALUES (60, 1, 'x'); END",
        "CREATE PROCEDURE pcommit() COMMIT",
        "CREATE PROCEDURE pout(OUT x INT) SET x = 3",
        "CREATE PROCEDURE plock() SELECT gl()",
        "CREATE PROCEDURE pac() SET autocommit = 0",
        "CREATE PROCEDURE prole() SET ROLE NONE",
        "CREATE PROCEDURE pprep() BEGIN PREPARE sp FROM 'SELECT id FROM t ORDER BY id'; END",
        "CREATE PROCEDURE pkill(n BIGINT) KILL n",
    ]  # fmt: skip


# Views over functions whose answer is the session's. None has a column whose value differs by nature.
VIEWS = {
    "pv": "SELECT * FROM t WHERE id = p()",
    "ppv": "SELECT id, v FROM pv",
    "lv": "SELECT id, LAST_INSERT_ID() AS l FROM t",
    "lidv": "SELECT id, lid() AS l FROM t",
    "rcv": "SELECT id, ROW_COUNT() AS r FROM t",
    "rcfv": "SELECT id, rc() AS r FROM t",
    "frv": "SELECT id, FOUND_ROWS() AS r FROM t",
    "glv": "SELECT id, gl() AS g FROM t WHERE id = 1",
    "gllv": "SELECT GET_LOCK('{lock}', 0) AS g",
    "freev": "SELECT id, IS_FREE_LOCK('{lock}') AS g FROM t",
    "dbv": "SELECT id, DATABASE() AS d FROM t",
    "psv": "SELECT VARIABLE_VALUE AS v FROM performance_schema.session_variables WHERE VARIABLE_NAME = 'time_zone'",
    "psuv": "SELECT VARIABLE_NAME AS n, CONVERT(VARIABLE_VALUE USING utf8mb4) AS v FROM performance_schema.user_variables_by_thread "
    "WHERE THREAD_ID = PS_CURRENT_THREAD_ID() AND VARIABLE_NAME IN ('p', 'z', 'w')",
    "tsv": "SELECT id, at FROM ts",
    "nowv": "SELECT id, NOW() AS n FROM t",
    "tzv": "SELECT id, tzf() AS z FROM t",
    "setv": "SELECT id, setp(2) AS s FROM t WHERE id = 1",
    "mkv": "SELECT mk() AS m",
    "mktv": "SELECT mkt() AS m",
    "plainv": "SELECT id, plus(v) AS w FROM t",
    "largestv": "SELECT largest() AS l",
    "sharev": "SELECT id, sharing() AS l FROM t WHERE id = 1",
    "warnv": "SELECT warns() AS w",
}


def views(names):
    return [f"CREATE VIEW {name} AS {text.format(lock=names.lock)}" for name, text in VIEWS.items()]


def stored_rows(names):
    """Questions for everything that a sequence may have changed for others."""
    tables = [f"`{schema}`.{table}" for schema in names.lasting for table in ("t", "ts")] + [f"{names.droppable}.t"]
    tables += [f"{names.first}.{table}" for table in ("ai", "o", "2024", "tg", "tz", "tl")]
    return [f"SELECT * FROM {table} ORDER BY 1" for table in tables]


def repair(names, touched):
    """Puts back what was touched."""
    statements = ["BEGIN"]
    if touched & Touched.ROWS:
        # A schema that may be missing is built anew below.
        dropped = touched & Touched.DROPPABLE
        for schema, factor in zip(names.lasting if dropped else (*names.lasting, names.droppable), FACTORS):
            statements += [
                f"DELETE FROM `{schema}`.t WHERE id NOT BETWEEN 1 AND 3",
                f"INSERT INTO `{schema}`.t VALUES {rows(factor)} AS n ON DUPLICATE KEY UPDATE v = n.v, s = n.s",
            ]
        statements += [f"DELETE FROM {names.first}.{table}" for table in ("o", "2024", "tg", "tz", "tl")]
    statements += ["COMMIT"]
    if touched & Touched.COUNTER:
        # A fourth of what TRUNCATE takes.
        statements += [f"DELETE FROM {names.first}.ai", f"ALTER TABLE {names.first}.ai AUTO_INCREMENT = 1"]
    if touched & Touched.DROPPABLE:
        statements += droppable(names)
    return statements
