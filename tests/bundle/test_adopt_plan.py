"""What `make adopt` decides before it touches a server. No server is there."""

import json
import resource
import subprocess
import sys

import pytest

from support import compose as containers

sys.path.insert(0, containers.ROOT + "/mysql-master/adopt")
import clients  # noqa: E402
import main as adopt  # noqa: E402
import plan  # noqa: E402
import state  # noqa: E402

SOURCE = {
    "version": "8.4.3",
    "schemas": ["mysql", "sys", "shop", "old"],
    "accounts": [["app", "%"], ["root", "localhost"]],
    "privileges": [*plan.NEEDED, *plan.NEEDED_TO_FOLLOW],
    "partial_revokes": 0,
    "gtid_mode": "ON",
    "server_uuid": "there",
    "log_bin": "1",
    "server_id": 1,
    "binlog_format": "ROW",
    "binlog_row_image": "FULL",
}
OURS = {"schemas": ["mysql"], "accounts": [["root", "localhost"]], "partial_revokes": 0, "server_id": 6034, "channel": 0, "read_only": 0}
NOTHING = {"schemas": [], "accounts": []}


def mistakes(wanted=(), follow=True, begun=NOTHING, there=None, here=None):
    return list(plan.mistakes({**SOURCE, **(there or {})}, {**OURS, **(here or {})}, wanted, follow, begun, "mover"))


def test_a_server_that_fits_has_no_mistake():
    assert mistakes() == []


@pytest.mark.parametrize(
    "wanted, there, here, said",
    [
        (["nope"], {}, {}, "no schema nope"),
        ([], {"schemas": ["sys"]}, {}, "no schema to load"),
        ([], {}, {"schemas": ["shop"]}, "schema shop is here"),
        ([], {}, {"accounts": [["app", "%"]]}, "app@%"),
        ([], {"partial_revokes": 1}, {}, "partial_revokes"),
        ([], {"log_bin": "0"}, {}, "log_bin=ON"),
        ([], {"binlog_format": "MIXED"}, {}, "binlog_format=ROW"),
        ([], {"gtid_mode": "ON_PERMISSIVE"}, {}, "gtid_mode"),
        ([], {"server_id": 6034}, {}, "server_id"),
        ([], {}, {"channel": 1}, "follows a server"),
        ([], {}, {"read_only": 1}, "read-only"),
    ],
)
def test_what_keeps_it_from_coming_is_said(wanted, there, here, said):
    (only,) = mistakes(wanted, there=there, here=here)
    assert said in only


def test_what_an_unfinished_load_made_is_in_nobodys_way():
    here = {"schemas": ["shop"], "accounts": [["app", "%"]]}
    assert mistakes(here=here, begun={"schemas": ["shop"], "accounts": [["app", "%"]]}) == []
    assert len(mistakes(here=here)) == 2


def test_a_disk_that_is_too_full_for_the_load_is_said_before_it():
    sizes = {"shop": 10 << 30, "old": 100 << 30}
    assert list(plan.too_little_room(sizes, ["shop", "empty"], 15 << 30)) == []
    (only,) = plan.too_little_room(sizes, ["shop"], (15 << 30) - 1)
    assert "10.0 GiB there" in only and "15.0 GiB are free" in only


def test_to_what_is_loaded_come_only_schemas_of_the_same_server_that_are_not_followed():
    assert list(plan.mistakes_of_more([], None, "h:3306", True)) == []
    assert list(plan.mistakes_of_more(["a"], "h:3306", "h:3306", False)) == []
    for given in (("i:3306", False), ("h:3306", True)):
        (only,) = plan.mistakes_of_more(["a"], "h:3306", *given)
        assert "a came from h:3306" in only and "CANCEL=keep" in only


def test_an_account_that_is_here_from_a_finished_load_gets_only_privileges_on_what_comes():
    others = [
        "GRANT SELECT ON *.* TO `a`@`%`",
        "GRANT `r`@`%` TO `a`@`%`",
        "GRANT SELECT ON `old`.* TO `a`@`%`",
        "GRANT SELECT ON `shop`.`t` TO `a`@`%`",
        r"GRANT SELECT ON `myXone`.* TO `a`@`%`",
        r"GRANT SELECT ON `my\_on_x`.* TO `a`@`%`",
    ]
    these = [
        "GRANT ALL PRIVILEGES ON `b``1`.* TO `a`@`%` WITH GRANT OPTION",
        "GRANT SELECT (`id`), UPDATE (`v`) ON `my_one`.`t` TO `a`@`%`",
        "GRANT EXECUTE ON PROCEDURE `my_one`.`p` TO `a`@`%`",
        r"GRANT SELECT ON `my\_on_`.* TO `a`@`%`",
        "GRANT SELECT ON `my%`.* TO `a`@`%`",
    ]
    assert list(plan.grants_on(others + these, ["b`1", "my_one"])) == these


def test_rows_need_no_binlog_unless_it_is_followed():
    assert mistakes(follow=False, there={"log_bin": "0", "binlog_format": "STATEMENT"}) == []


def test_tables_are_dealt_by_size_and_each_once():
    tables = [("s", f"t{i}", size) for i, size in enumerate([10, 900 << 20, 300 << 20, 300 << 20, 290 << 20, 5])]
    shares = plan.deal(tables, 2)
    assert sorted(sum(shares, [])) == sorted(tables)
    assert [sum(size for *_, size in share) >> 20 for share in shares] == [900, 890]
    assert len(plan.deal(tables, 64)) == len(tables)


def test_default_roles_wait_for_the_roles():
    made = "CREATE USER `a`@`%` IDENTIFIED WITH 'caching_sha2_password' AS 0x24 DEFAULT ROLE `r``x`@`%`,`s`@`%` REQUIRE NONE"
    assert plan.create_user(made) == (
        "CREATE USER `a`@`%` IDENTIFIED WITH 'caching_sha2_password' AS 0x24 REQUIRE NONE",
        "`r``x`@`%`,`s`@`%`",
    )
    assert plan.create_user("CREATE USER `a`@`%` REQUIRE NONE") == ("CREATE USER `a`@`%` REQUIRE NONE", None)


def test_a_hash_that_an_old_version_prints_as_bytes_is_put_in_hexadecimal():
    raw = (
        "CREATE USER `a`@`%` IDENTIFIED WITH 'caching_sha2_password' AS '$A$005$it's \r\n \\1 AS 'odd' REQUIRE NONE PASSWORD EXPIRE DEFAULT"
    )
    expected = "CREATE USER `a`@`%` IDENTIFIED WITH 'caching_sha2_password' AS 0x2441 REQUIRE NONE PASSWORD EXPIRE DEFAULT"
    assert plan.with_hash(raw, "2441") == expected
    locked = "CREATE USER `r`@`%` IDENTIFIED WITH 'caching_sha2_password' REQUIRE NONE PASSWORD EXPIRE ACCOUNT LOCK"
    assert plan.with_hash(locked, "") == locked
    assert plan.version_of("8.0.15-log") < (8, 0, 17) <= plan.version_of("8.0.17")


def test_privileges_that_bypass_the_binlog_or_are_unknown_are_left_out_and_said():
    shown = [
        "GRANT `r`@`%` TO `a`@`%` WITH ADMIN OPTION",
        "GRANT SELECT, SUPER, FILE ON *.* TO `a`@`%` WITH GRANT OPTION",
        "GRANT BINLOG_ADMIN,OLD_ADMIN ON *.* TO `a`@`%`",
        "GRANT SELECT (`id`), UPDATE (`v`) ON `shop`.`t` TO `a`@`%`",
        "GRANT ALL PRIVILEGES ON `shop`.* TO `a`@`%`",
    ]
    kept, left_out = plan.grants(shown, {"SELECT", "SUPER", "FILE", "BINLOG_ADMIN"}, None)
    assert kept == ["GRANT SELECT ON *.* TO `a`@`%` WITH GRANT OPTION", *shown[3:], shown[0]]
    assert left_out == ["SUPER", "FILE", "BINLOG_ADMIN", "OLD_ADMIN"]


def test_with_some_schemas_only_grants_on_tables_of_others_are_left_out():
    shown = [
        "GRANT SELECT ON `shop`.`t` TO `a`@`%`",
        "GRANT SELECT ON `old`.`t` TO `a`@`%`",
        "GRANT EXECUTE ON PROCEDURE `old`.`p` TO `a`@`%`",
        "GRANT SELECT ON `old`.* TO `a`@`%`",
    ]
    kept, left_out = plan.grants(shown, set(), ["shop"])
    assert kept == [shown[0], shown[3]] and left_out == ["SELECT ON `old`.`t`", "EXECUTE ON PROCEDURE `old`.`p`"]


def test_a_password_that_replication_does_not_take_is_said_before_the_load():
    assert list(plan.unfit_password("p" * 32)) == [] and list(plan.unfit_password("ü" * 16)) == []
    for each in ("p" * 33, "ü" * 17):
        (only,) = plan.unfit_password(each)
        assert "at most 32 bytes" in only and each not in only


def test_what_was_loaded_is_followed_only_at_the_server_that_it_came_from():
    loaded = {"server_uuid": "there", "source": "h:3306"}
    assert list(plan.mistakes_of_starting(SOURCE, loaded, True)) == []
    assert "FOLLOW=1" in next(plan.mistakes_of_starting(SOURCE, loaded, False))
    assert "h:3306" in next(plan.mistakes_of_starting({**SOURCE, "server_uuid": "other"}, loaded, True))


@pytest.mark.parametrize(
    "receiver, applier, error, runs",
    [
        ("Yes", "Yes", "", True),
        ("Connecting", "Yes", "", False),
        ("No", "Yes", "", False),
        ("Yes", "No", "", False),
        ("Yes", "Yes", "1236", False),
    ],
)
def test_a_channel_that_has_stopped_does_not_run(receiver, applier, error, runs):
    assert plan.channel_runs({"Replica_IO_Running": receiver, "Replica_SQL_Running": applier, "Last_IO_Error": error}) == runs


def test_without_gtids_it_is_followed_by_file_and_position():
    position = {"gtid": "", "file": "binlog.000007", "offset": 157}
    by_file = plan.follow({"gtid_mode": "OFF"}, "h", 3306, "u", "it's\\", position, True)
    assert "SOURCE_LOG_FILE = 'binlog.000007', SOURCE_LOG_POS = 157" in by_file and "= LOCAL" in by_file and "'it''s\\\\'" in by_file
    assert "SOURCE_AUTO_POSITION = 1" in plan.follow({"gtid_mode": "ON"}, "h", 3306, "u", "p", position, True)


def test_brackets_of_an_ipv6_address_are_no_part_of_the_host():
    for text, host in (("[2001:db8::1]:3307", "2001:db8::1"), ("db.example:3307", "db.example"), ("10.0.0.7:3307", "10.0.0.7")):
        assert plan.host_and_port(text) == (host, "3307")
        assert plan.address(host, "3307") == text, "as the cutover takes it from the state"


def test_the_old_server_ignores_what_is_not_its_own():
    assert r"('mysql.%', 'sys.%', 'my\\_own.%')" in plan.go_back("h", 3306, "p", "u", ["my_own"], "a:1")


def test_of_prechecks_report_only_what_blocks_stops_it():
    report = "server\n  OK           fine\n\ntables\n  blocks       1 tables: a.b (MyISAM)\n                 why\n                 do: this\n  note         other\n                 text\n"
    assert plan.blocks(report) == ["1 tables: a.b (MyISAM); why; do: this"]


@pytest.mark.parametrize("text, value", [(r"a\tb\\n\n", "a\tb\\n\n"), ("plain", "plain"), (r"\\\\", r"\\")])
def test_a_field_of_the_client_is_what_it_was(text, value):
    assert clients.unescaped(text) == value


def test_the_state_is_on_the_disk_and_is_forgotten(tmp_path):
    file = tmp_path / "adopt" / "p.json"
    kept = state.State(file)
    kept.keep(phase="loading", schemas=["shop"])
    assert json.loads(file.read_text())["phase"] == "loading" and state.State(file)["schemas"] == ["shop"]
    kept.forget()
    assert state.State(file)["phase"] == "none" and set(state.PHASES) >= {"none", "loading"}


def test_a_state_that_cannot_be_written_is_said_and_is_as_before(tmp_path, monkeypatch, capsys):
    file = tmp_path / "adopt" / "p.json"
    kept = state.State(file)
    kept.keep(phase="loading")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with pytest.raises(OSError, match=str(file)):
            kept.keep(phase="loaded")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert kept["phase"] == state.State(file)["phase"] == "loading" and list(file.parent.iterdir()) == [file]
    monkeypatch.setenv("ADOPT_STATE", str(file.parent))
    monkeypatch.setattr(sys, "argv", ["main.py", "status"])
    assert adopt.main() == 1
    assert str(file.parent) in capsys.readouterr().err


def test_a_row_ends_at_a_newline_alone(monkeypatch):
    """Names of tables may hold what Python takes for the end of a line, too."""
    name = "a\rb\u2028c\x85d\\e"
    said = (name.replace("\\", "\\\\") + "\tx\ny\n").encode()
    monkeypatch.setattr(clients.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess((), 0, said, b""))
    there = clients.Clients.__new__(clients.Clients)
    there.name = "none"
    assert there.run("source", "SELECT 'é'") == [[name, "x"], ["y"]]
