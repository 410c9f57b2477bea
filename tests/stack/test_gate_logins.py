"""Who gets in, who does not, and how soon a changed account counts."""

import contextlib

import pymysql
import pytest

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
