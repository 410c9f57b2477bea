"""Programs that people use with MySQL work through the gate: the mysql client, mysqldump, drivers of several languages."""

import contextlib
import datetime
import decimal
import glob
import re

import pytest
import sqlalchemy

from support import compose as containers
from support.stack import ADMIN


@pytest.fixture(scope="module")
def program(stack):
    """program(where, command, ..., input) -> CompletedProcess of a client program that runs in the master's container and
    connects to the gate or the master over TCP."""

    def run(where, *command, user="app", input=None, check=True):
        host, port = ("gate", 6034) if where == "gate" else ("master", 3306)
        options = f"[client]\nuser={user}\npassword={stack.password(user)}\nhost={host}\nport={port}\nprotocol=TCP\n"
        stack.compose("exec", "-T", "master", "sh", "-c", "umask 077; cat > /run/multimed/test.cnf", input=options)
        return stack.compose(
            "exec", "-T", "master", command[0], "--defaults-file=/run/multimed/test.cnf", *command[1:], input=input, check=check
        )

    return run


def test_the_mysql_client(program, table):
    script = "SELECT * FROM items ORDER BY id;\nDELIMITER //\nSELECT 1;\nSELECT 2//\nDELIMITER ;\nSHOW TABLES LIKE 'it%';\nDESCRIBE items;\nSHOW CREATE TABLE items;\nSELECT NULL, '', X'00', 1.50;\n"
    through, direct = (
        program(where, "mysql", "app", "--table", "--default-character-set=utf8mb4", input=script).stdout for where in ("gate", "master")
    )
    assert "item ü 1000" in through
    assert through == direct


def test_the_mysql_client_shows_errors_and_goes_on_with_force(program, table):
    done = program("gate", "mysql", "app", "--force", input="SELECT * FROM nothing;\nSELECT 'went on';\n", check=False)
    assert "ERROR 1146 (42S02) at line 1" in done.stderr and "went on" in done.stdout


@pytest.mark.parametrize(
    "login",
    ["--ssl-mode=DISABLED --get-server-public-key", "--ssl-mode=REQUIRED", "--ssl-mode=PREFERRED --compression-algorithms=uncompressed"],
)
def test_the_mysql_client_logs_in_with_tls_and_without(program, login):
    assert program("gate", "mysql", *login.split(), "-N", input="SELECT 'in'").stdout == "in\n"


def ssl_status(connection, **cursor):
    """What a client is told about its own TLS: whatever way it asks, the same."""
    cursor = connection.cursor(**cursor)

    def ask(sql):
        cursor.execute(sql)
        return {str(row[0]): str(row[-1]) for row in cursor.fetchall()}

    names = "Variable_name IN ('Ssl_cipher', 'Ssl_version')"
    table = f"SELECT variable_name, variable_value FROM performance_schema.session_status WHERE {names}"
    answers = [
        ask(sql)
        for sql in (
            f"SHOW STATUS WHERE {names}",
            f"SHOW LOCAL STATUS WHERE {names} AND LENGTH(Value) >= 0",
            f"SHOW GLOBAL STATUS WHERE {names}",
            table,
        )
    ]
    answers.append({**ask("SHOW STATUS LIKE 'Ssl\\_cipher'"), **ask("SHOW SESSION STATUS LIKE 'ssl_version'")})
    answers.append({name: value for name, value in ask("SHOW STATUS").items() if name in answers[0]})
    assert answers == [answers[0]] * len(answers)
    return answers[0]["Ssl_cipher"], answers[0]["Ssl_version"]


def test_a_client_is_told_its_own_cipher_and_not_the_gates(stack, program):
    with contextlib.closing(stack.gate_connect()) as plain:
        assert ssl_status(plain) == ("", "")
    with contextlib.closing(stack.gate_connect(ssl_disabled=False, ssl={"check_hostname": False, "verify_mode": "none"})) as secure:
        assert ssl_status(secure) == secure._sock.cipher()[:2]
    for options, expected in (({}, ("TLS_AES_256_GCM_SHA384", "TLSv1.3")), ({"ssl_disabled": True}, ("", ""))):
        # Without TLS the connector can only log in where its password is known: the gate here knows it for 3 s after a login.
        stack.gate_connect().close()
        with contextlib.closing(stack.gate_connect(client="connector", **options)) as connection:
            assert ssl_status(connection, prepared=True) == expected
    ask = "\\s\nSHOW STATUS LIKE 'Ssl_cipher';\nSHOW STATUS LIKE 'Ssl_version';\n"
    said = program("gate", "mysql", "--loose-commands", "--tls-version=TLSv1.2", "-N", input=ask).stdout
    cipher = re.search(r"^Ssl_cipher\t(\S+)$", said, re.M)[1]
    assert f"Cipher in use is {cipher}\n" in said and "Ssl_version\tTLSv1.2\n" in said


@pytest.mark.parametrize(
    "options,user",
    [
        (["--single-transaction", "--set-gtid-purged=OFF", "--no-tablespaces"], "app"),
        (["--no-tablespaces", "--set-gtid-purged=OFF"], "app"),
        (["--single-transaction", "--routines", "--events", "--triggers"], ADMIN),
        ([], ADMIN),
    ],
)
def test_mysqldump_writes_the_same_as_directly(stack, program, table, options, user):
    stack.await_satellites()
    dumps = [program(where, "mysqldump", "--skip-comments", *options, "app", user=user).stdout for where in ("gate", "master")]
    assert "INSERT INTO `items`" in dumps[0]
    through, direct = (re.sub(r"AUTO_INCREMENT=\d+ ", "", dump) for dump in dumps)
    assert through == direct


def test_mysqladmin(program):
    assert "alive" in program("gate", "mysqladmin", "ping").stdout


def test_prepared_statements_of_connector_python(stack, table, reads):
    with contextlib.closing(stack.gate_connect(client="connector")) as connection:
        cursor = connection.cursor(prepared=True)

        def read():
            for number in (1, 5, 9):
                cursor.execute("SELECT id, v, n, d, t, b FROM items WHERE id = %s AND n < %s", (number, 100))
                assert cursor.fetchall() == [
                    (
                        number,
                        f"item ü {number}",
                        number,
                        decimal.Decimal(number / 3).quantize(decimal.Decimal("0.01")),
                        datetime.datetime(2024, 1, 2, 3, 4, 5, 678000),
                        b"\x00\xff'",
                    )
                ]

        counts = reads(read)
        assert counts and all(name.startswith("satellite") for name in counts), counts
        write = connection.cursor(prepared=True)
        write.execute(
            "CREATE TABLE IF NOT EXISTS prepared (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(40), d DATETIME(6), f DOUBLE, b LONGBLOB)"
        )
        for value in ("é", None, "'; DROP TABLE items; --"):
            write.execute(
                "INSERT INTO prepared (v, d, f, b) VALUES (%s, %s, %s, %s)",
                (value, datetime.datetime(2024, 5, 6, 7, 8, 9, 10), 0.1, b"\x00" * 100),
            )
            assert write.lastrowid
        cursor.execute("SELECT v, d, f FROM prepared WHERE f > %s ORDER BY id", (0,))
        assert [row[0] for row in cursor.fetchall()] == ["é", None, "'; DROP TABLE items; --"]
        write.execute("DROP TABLE prepared")


def test_a_prepared_read_follows_commits_of_others(stack, table):
    with contextlib.closing(stack.gate_connect(client="connector")) as connection:
        cursor = connection.cursor(prepared=True)
        stack.sql("master", "CREATE TABLE IF NOT EXISTS app.fresh (id INT PRIMARY KEY, v INT)")
        for number in range(60):
            stack.sql("master", "REPLACE INTO app.fresh VALUES (3, %s)", (number,))
            cursor.execute("SELECT v FROM fresh WHERE id = %s", (3,))
            assert cursor.fetchall() == [(number,)]


def test_a_prepared_statement_survives_a_change_of_its_table(stack, table):
    with contextlib.closing(stack.gate_connect(client="connector")) as connection:
        cursor = connection.cursor(prepared=True)
        stack.sql("master", "DROP TABLE IF EXISTS app.changing")
        stack.sql("master", "CREATE TABLE app.changing (id INT PRIMARY KEY)")
        stack.sql("master", "INSERT INTO app.changing VALUES (1)")
        cursor.execute("SELECT * FROM changing WHERE id = %s", (1,))
        assert cursor.fetchall() == [(1,)]
        stack.sql("master", "ALTER TABLE app.changing ADD COLUMN more INT DEFAULT 5")
        cursor.execute("SELECT * FROM changing WHERE id = %s", (1,))
        assert cursor.fetchall() == [(1, 5)]


def test_prepared_statements_in_transactions(stack, table):
    with contextlib.closing(stack.gate_connect(client="connector")) as connection:
        cursor = connection.cursor(prepared=True)
        for readonly in (True, False):
            connection.start_transaction(readonly=readonly)
            cursor.execute("SELECT n FROM items WHERE id = %s", (4,))
            assert cursor.fetchall() == [(4,)]
            connection.commit()
        connection.start_transaction(readonly=True)
        with pytest.raises(Exception, match="1792"):
            cursor.execute("UPDATE items SET n = %s WHERE id = 4", (5,))
        connection.rollback()


def test_sqlalchemy_with_autocommit_off_and_with_declared_read_only(stack, table, reads):
    """What docs/connecting.md says: no reads on satellites unless transactions are declared read-only."""
    url = sqlalchemy.URL.create(
        "mysql+pymysql", "app", stack.password("app"), stack.host, stack.gate_port, "app", query={"charset": "utf8mb4"}
    )
    engine = sqlalchemy.create_engine(url)
    items = sqlalchemy.table("items", sqlalchemy.column("id"), sqlalchemy.column("n"))

    def default():
        with engine.begin() as connection:
            assert connection.execute(sqlalchemy.select(items.c.n).where(items.c.id == 6)).scalar_one() == 6

    assert not any(name.startswith("satellite") for name in reads(default))

    def declared():
        with engine.connect() as connection:
            connection.exec_driver_sql("SET TRANSACTION READ ONLY")
            assert connection.execute(sqlalchemy.select(items.c.n).where(items.c.id == 6)).scalar_one() == 6

    def autocommit():
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            assert connection.execute(sqlalchemy.select(items.c.n).where(items.c.id == 6)).scalar_one() == 6

    for way in (declared, autocommit):
        counts = reads(way)
        assert counts and all(name.startswith("satellite") for name in counts), (way, counts)
    engine.dispose()


def test_connector_j(stack, table, reads):
    """Java's driver: server-side prepared statements, setReadOnly, batches, generated keys."""
    jars = glob.glob(f"{stack.root}/cdc-applier/target/dist/lib/mysql-connector-j-*.jar")
    assert jars, "cdc-applier is built before the stack comes up"
    output = []

    def run():
        output.append(
            containers.run(
                "java",
                "-cp",
                jars[0],
                "tests/stack/clients/Client.java",
                env={
                    "URL": f"jdbc:mysql://{stack.host}:{stack.gate_port}/app?useServerPrepStmts=true&cachePrepStmts=true&rewriteBatchedStatements=true&allowPublicKeyRetrieval=true&sslMode=PREFERRED",
                    "DB_USER": "app",
                    "DB_PASSWORD": stack.password("app"),
                },
            ).stdout
        )

    counts = reads(run)
    assert output[0].strip().endswith("fine"), output
    assert any(name.startswith("satellite") for name in counts), counts
