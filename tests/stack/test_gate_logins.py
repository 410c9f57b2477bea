"""Who gets in, who does not, and how soon a changed account counts."""

import contextlib

import pymysql
import pytest

HANDLES_EXPIRED_PASSWORDS = 1 << 22
CODES = {"wrong password": 1045, "no such user": 1045, "no such schema": 1049, "someone else's schema": 1044}


def refusal(connect, **options):
    with pytest.raises(pymysql.err.MySQLError) as refused:
        connect(**options).close()
    return refused.value.args


@pytest.mark.parametrize(
    "what,options",
    [
        ("wrong password", {"password": "wrong"}),
        ("no password", {"password": ""}),
        ("no such user", {"user": "nobody", "password": "x"}),
        ("no such schema", {"database": "no_such_schema"}),
        ("someone else's schema", {"database": "mysql"}),
    ],
)
def test_a_refused_login_is_refused_as_mysql_does_it(stack, what, options):
    through, direct = refusal(stack.gate_connect, **options), refusal(stack.master_connect, **options)
    assert through[0] == direct[0]
    assert through[1].split("'@'")[0] == direct[1].split("'@'")[0]


@pytest.mark.parametrize("collation", [54, 35, 60, 56, 101, 159])
def test_a_character_set_in_which_no_client_may_send_statements_is_refused(stack, monkeypatch, collation):
    stack.gate_connect().close()  # from now on the gate knows the password
    wide = pymysql.charset.Charset(collation, "ascii", "", "")
    monkeypatch.setattr(pymysql.connections, "charset_by_name", lambda name: wide)
    assert refusal(stack.gate_connect) == refusal(stack.master_connect)


def test_after_a_wrong_password_the_right_one_still_works(stack):
    refusal(stack.gate_connect, password="wrong")
    stack.gate_connect().close()


@pytest.mark.parametrize("client", ["pymysql", "connector"])
def test_login_with_rsa_and_with_tls_and_again_from_memory(stack, client):
    stack.make_user("fresh_login", password='pass word " \\ `with` %s $HOME everything')
    for _ in range(3):
        with contextlib.closing(stack.gate_connect("fresh_login", client=client)) as connection:
            cursor = connection.cursor()
            cursor.execute("SELECT CURRENT_USER()")
            assert list(cursor.fetchall())[0][0] == "fresh_login@%"


def test_tls_clients_that_send_their_hello_together_with_the_request_for_tls(stack):
    """PyMySQL does not wait between both."""
    for _ in range(30):
        stack.gate_connect(ssl_disabled=False, ssl={"check_hostname": False, "verify_mode": "none"}).close()


def test_a_new_user_reads_at_once_though_satellites_do_not_know_it_yet(stack):
    for number in range(5):
        name = f"instant_{number}"
        stack.sql("master", f"DROP USER IF EXISTS {name}")
        stack.sql("master", f"CREATE USER {name} IDENTIFIED BY 'pw'")
        stack.sql("master", f"GRANT SELECT ON app.* TO {name}")
        with contextlib.closing(stack.gate_connect(name, password="pw", database="app")) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT COUNT(*) FROM items")
            assert cursor.fetchone()[0] >= 1000
        stack.sql("master", f"DROP USER {name}")


def test_a_user_without_a_password(stack):
    stack.sql("master", "DROP USER IF EXISTS open_door")
    stack.sql("master", "CREATE USER open_door IDENTIFIED WITH caching_sha2_password BY ''")
    with contextlib.closing(stack.gate_connect("open_door", password="", database=None)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT CURRENT_USER()")
        assert cursor.fetchone() == ("open_door@%",)
    stack.sql("master", "DROP USER open_door")


def test_a_changed_password_counts_within_the_ttl(stack):
    old = stack.make_user("changing")
    stack.gate_connect("changing").close()
    new = stack.make_user("changing", password="another one")
    stack.gate_connect("changing", password=new).close()
    stack.wait_for(lambda: refusal(stack.gate_connect, user="changing", password=old)[0] == 1045, 10, "the old password to be refused")


def test_a_locked_account_is_refused_within_the_ttl(stack):
    stack.make_user("to_be_locked")
    stack.gate_connect("to_be_locked").close()
    stack.sql("master", "ALTER USER to_be_locked ACCOUNT LOCK")

    def refused():
        return refusal(stack.gate_connect, user="to_be_locked")[0] == 3118

    stack.wait_for(refused, 10, "a locked account to be refused")
    stack.sql("master", "ALTER USER to_be_locked ACCOUNT UNLOCK")
    stack.gate_connect("to_be_locked").close()


def test_a_dropped_account_is_refused_within_the_ttl(stack):
    password = stack.make_user("to_be_dropped")
    stack.gate_connect("to_be_dropped").close()
    stack.sql("master", "DROP USER to_be_dropped")
    stack.wait_for(
        lambda: refusal(stack.gate_connect, user="to_be_dropped", password=password, database=None)[0] == 1045,
        10,
        "a dropped account to be refused",
    )


def test_revoked_privileges_count_for_the_next_session(stack, table):
    """On satellites as on the master. (A session keeps the rights on its schema until its next USE: MySQL's own rule.)"""
    stack.make_user("weak", db="app")

    def read():
        with contextlib.closing(stack.gate_connect("weak", database=None)) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT COUNT(*) FROM app.items")

    read()
    stack.sql("master", "REVOKE ALL ON app.* FROM weak")
    with pytest.raises(pymysql.err.MySQLError) as refused:
        read()
    assert refused.value.args[0] in (1142, 1044)


def test_make_user_keeps_a_known_password_and_changes_it_on_request(stack):
    from support import compose as containers

    password = stack.make_user("kept")
    containers.run("make", "-s", "user", env={"NAME": "kept", "DB": "kept_more"})
    with (
        contextlib.closing(stack.gate_connect("kept", database="kept_more", password=password)) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("CREATE TABLE IF NOT EXISTS mine (id INT PRIMARY KEY)")
    containers.run("make", "-s", "user", env={"NAME": "generated_one"})
    generated = (stack.secrets / "proxysql/users/generated_one").read_text().strip()
    assert len(generated) >= 20
    stack.gate_connect("generated_one", password=generated).close()


def attributes(stack, server, program):
    """Connections of this program to the server, by what they say about themselves."""
    return stack.sql(
        server,
        "SELECT attr.ATTR_NAME, attr.ATTR_VALUE FROM performance_schema.session_connect_attrs attr JOIN "
        "performance_schema.session_connect_attrs program USING (PROCESSLIST_ID) WHERE program.ATTR_VALUE = %s",
        (program,),
    )


def test_connection_attributes_reach_the_servers(stack, table):
    with contextlib.closing(stack.gate_connect(program_name="payroll-7")) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM items")
        cursor.execute("DELETE FROM items WHERE id < 0")
        on_master = dict(attributes(stack, "master", "payroll-7"))
        assert on_master["program_name"] == "payroll-7" and on_master["_client_name"] == "pymysql"
        on_satellites = [row for name in stack.satellites for row in attributes(stack, name, "payroll-7")]
        assert ("program_name", "payroll-7") in on_satellites


@pytest.fixture
def tls_only(stack, table):
    """A user that must come over TLS."""
    stack.sql("master", "DROP USER IF EXISTS tls_only")
    stack.sql("master", "CREATE USER tls_only IDENTIFIED BY 'pw' REQUIRE SSL")
    stack.sql("master", "GRANT SELECT, DELETE ON app.* TO tls_only")
    stack.await_satellites()
    yield {"user": "tls_only", "password": "pw", "database": "app"}
    stack.sql("master", "DROP USER tls_only")


def test_an_account_that_requires_tls_is_served_over_tls_and_refused_without(stack, tls_only, reads):
    encrypted = {**tls_only, "ssl_disabled": False, "ssl": {"check_hostname": False, "verify_mode": "none"}}
    assert refusal(stack.gate_connect, **tls_only)[0] == 1045
    for _ in range(2):
        with contextlib.closing(stack.gate_connect(**encrypted)) as connection, connection.cursor() as cursor:

            def read(cursor=cursor):
                cursor.execute("SELECT COUNT(*) FROM items")
                assert cursor.fetchone()[0] >= 1000

            assert "master" not in reads(lambda: [read() for _ in range(4)])
            assert cursor.execute("DELETE FROM items WHERE id < 0") == 0
        assert refusal(stack.gate_connect, **tls_only)[0] == 1045, "though its password is known by now"


def test_over_tls_a_wrong_password_is_refused(stack, tls_only):
    wrong = {**tls_only, "password": "wrong", "ssl_disabled": False, "ssl": {"check_hostname": False, "verify_mode": "none"}}
    assert refusal(stack.gate_connect, **wrong)[0] == 1045


class Bare(pymysql.Connection):
    """Says nothing by itself after the login."""

    def set_character_set(self, *_):
        pass

    def autocommit(self, *_):
        pass

    def outcome(self, sql):
        try:
            with self.cursor() as cursor:
                cursor.execute(sql)
                return cursor.fetchall()
        except pymysql.err.MySQLError as error:
            return error.args


def bare(connect, user, database=None, **options):
    """On the way of `connect`, as somebody who says nothing by itself."""
    with contextlib.closing(connect()) as known:
        options = {"host": known.host, "port": known.port, "ssl_disabled": True, **options}
    return Bare(user=user, password="pw", database=database, **options)


@pytest.fixture
def expired(stack):
    def expire():
        stack.sql("master", "ALTER USER expired IDENTIFIED BY 'pw' PASSWORD EXPIRE")

    stack.sql("master", "DROP USER IF EXISTS expired")
    stack.sql("master", "CREATE USER expired IDENTIFIED BY 'pw'")
    stack.sql("master", "GRANT SELECT, INSERT ON app.* TO expired")
    expire()
    yield expire
    stack.sql("master", "DROP USER expired")


def test_an_expired_password_lets_in_only_who_can_set_a_new_one(stack, table, expired):
    statements = (
        "SELECT 1",
        "SELECT COUNT(*) FROM app.items",
        "SET @a = 1",
        "SET NAMES latin1",
        "USE app",
        "START TRANSACTION READ ONLY",
        "COMMIT",
        "PREPARE s FROM 'SELECT 1'",
        "ALTER USER USER() IDENTIFIED BY 'pw'",
        "SELECT COUNT(*) FROM app.items WHERE id = 1",
    )
    answers = []
    for connect in (stack.master_connect, stack.gate_connect):
        expired()
        with pytest.raises(pymysql.err.MySQLError) as refused:
            bare(connect, "expired")
        with contextlib.closing(bare(connect, "expired", client_flag=HANDLES_EXPIRED_PASSWORDS)) as connection:
            answers.append((refused.value.args, [connection.outcome(statement) for statement in statements]))
    assert answers[0] == answers[1]
    assert answers[0][0][0] == 1862 and answers[0][1][0][0] == 1820 and answers[0][1][-1] == ((1,),)
    bare(stack.gate_connect, "expired").close()


@pytest.mark.parametrize(
    "charset,name",
    [("latin1", "fran\u00e7ois_\u20ac"), ("cp1251", "\u0438\u0432\u0430\u043d"), ("gbk", "\u738b"), ("utf8mb4", "fran\u00e7ois")],
)
def test_names_that_are_not_ascii_log_in_in_the_client_s_character_set(stack, charset, name):
    stack.sql("master", f"DROP USER IF EXISTS `{name}`")
    stack.sql("master", f"CREATE USER `{name}` IDENTIFIED BY 'pw'")
    stack.sql("master", f"CREATE DATABASE IF NOT EXISTS `{name}`")
    stack.sql("master", f"GRANT SELECT ON `{name}`.* TO `{name}`")
    stack.sql("master", f"GRANT SELECT ON app.* TO `{name}`")
    stack.await_satellites()
    try:
        for _ in range(2):
            with contextlib.closing(bare(stack.gate_connect, name, name, charset=charset)) as connection:
                who = "SELECT HEX(CONVERT(CURRENT_USER() USING utf8mb4)), HEX(CONVERT(DATABASE() USING utf8mb4)), @@character_set_client"
                assert connection.outcome(who) == ((f"{name}@%".encode().hex().upper(), name.encode().hex().upper(), charset),)
                assert connection.outcome("SELECT COUNT(*) > 0 FROM app.items") == ((1,),)
        with pytest.raises(pymysql.err.MySQLError) as refused:
            bare(stack.gate_connect, name + "\u0438" if charset == "cp1251" else name + "z", charset=charset)
        assert refused.value.args[0] == 1045
    finally:
        stack.sql("master", f"DROP USER `{name}`")
        stack.sql("master", f"DROP DATABASE `{name}`")


def test_an_account_has_no_more_connections_than_it_may_though_its_password_is_known(stack):
    stack.sql("master", "DROP USER IF EXISTS only_two")
    stack.sql("master", "CREATE USER only_two IDENTIFIED BY 'pw' WITH MAX_USER_CONNECTIONS 2")
    with contextlib.ExitStack() as opened:
        for _ in range(2):
            opened.enter_context(contextlib.closing(bare(stack.gate_connect, "only_two")))
        with pytest.raises(pymysql.err.MySQLError) as refused:
            bare(stack.gate_connect, "only_two")
        assert refused.value.args == (1226, "User 'only_two' has exceeded the 'max_user_connections' resource (current value: 2)")
    stack.wait_for(lambda: not bare(stack.gate_connect, "only_two").close(), 10, "room again")
    stack.sql("master", "DROP USER only_two")


@pytest.mark.parametrize("ask", ["SHOW STATUS LIKE '{}'", "SELECT * FROM performance_schema.global_status WHERE variable_name = '{}'"])
def test_a_client_that_pins_the_key_that_show_status_names_logs_in(stack, ask):
    stack.sql("master", "DROP USER IF EXISTS pinning")
    stack.sql("master", "CREATE USER pinning IDENTIFIED BY 'pw'")
    with contextlib.closing(stack.gate_connect()) as connection, connection.cursor() as cursor:
        cursor.execute(ask.format("Caching_sha2_password_rsa_public_key"))
        key = cursor.fetchone()[1]
    bare(stack.gate_connect, "pinning", server_public_key=key.encode()).close()
    stack.sql("master", "DROP USER pinning")
