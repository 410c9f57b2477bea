"""The files of passwords: what generate-secrets.sh makes, and each step in which `make rotate` has it replace them. No server is there."""

import stat

import pytest

from support import compose as containers

SERVICES = {
    "root_password": {"master"},
    "capture_password": {"master", "capture"},
    "clone_password": {"master", "satellite"},
    "gate_password": {"master", "gate"},
    "admin_token": {"gate"},
    "monitor_password": {"master", "proxysql"},
    "applier_password": {"satellite", "applier"},
    "proxysql_admin_password": {"proxysql"},
    "log_writer_password": {"capture"},
    "log_reader_password": {"applier", "capture"},
}


class Secrets:
    def __init__(self, folder):
        self.folder = folder
        self.do()

    def do(self, *step, check=True):
        return containers.run("mysql-master/generate-secrets.sh", str(self.folder), *step, check=check)

    def values(self):
        """{name: {service: value}} of every password."""
        files = [file for file in self.folder.glob("*/*") if file.parent.name != "next"]
        return {name: {f.parent.name: f.read_text().strip() for f in files if f.name == name} for name in SERVICES}

    def files(self):
        return {str(file.relative_to(self.folder)): file.read_bytes() for file in self.folder.rglob("*") if file.is_file()}

    def next(self, name):
        return (self.folder / "next" / name).read_text().strip()


@pytest.fixture
def secrets(tmp_path):
    return Secrets(tmp_path / "secrets")


def test_each_service_has_its_passwords_and_no_others(secrets):
    values = secrets.values()
    assert {name: set(each) for name, each in values.items()} == SERVICES
    assert all(len(set(each.values())) == 1 for each in values.values())
    assert len({value for each in values.values() for value in each.values()}) == len(SERVICES)
    jaas = (secrets.folder / "kafka/jaas.conf").read_text()
    for name in ("log_writer", "log_reader"):
        assert f'user_{name}="{values[name + "_password"]["capture"]}"' in jaas


def test_what_is_there_stays_and_what_is_missing_is_taken_from_the_other_service(secrets):
    before = secrets.files()
    (secrets.folder / "gate/gate_password").unlink()
    (secrets.folder / "applier/log_reader_password").unlink()
    secrets.do()
    assert secrets.files() == before


def test_modes(secrets):
    secrets.do("next")
    secrets.do("offer")
    secrets.do("take", *SERVICES)
    assert stat.S_IMODE(secrets.folder.stat().st_mode) == stat.S_IMODE((secrets.folder / "next").stat().st_mode) == 0o700
    files = [file for file in secrets.folder.rglob("*") if file.is_file()]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o444}
    assert not [file for file in files if file.name.startswith(".") or file.name.endswith(".new")]


def test_the_next_passwords_stay_the_same_until_the_end(secrets):
    secrets.do("next")
    first = {name: secrets.next(name) for name in SERVICES}
    secrets.do("next")
    assert {name: secrets.next(name) for name in SERVICES} == first
    assert len(set(first.values()) - {v for each in secrets.values().values() for v in each.values()}) == len(SERVICES)
    secrets.do("end")
    assert not (secrets.folder / "next").exists()
    secrets.do("next")
    assert not set(first.values()) & {secrets.next(name) for name in SERVICES}


def test_an_interrupted_beginning_or_end_leaves_nothing_behind(secrets):
    for left in (".next", ".ended"):
        (secrets.folder / left).mkdir()
        (secrets.folder / left / "root_password").write_text("half")
    secrets.do("next")
    assert {file.name for file in (secrets.folder / "next").iterdir()} == set(SERVICES)
    assert not (secrets.folder / ".next").exists() and not (secrets.folder / ".ended").exists()


def test_only_what_is_named_is_taken(secrets):
    secrets.do("next")
    before = secrets.values()
    secrets.do("take", "gate_password", "log_reader_password")
    after = secrets.values()
    assert {name for name in SERVICES if after[name] != before[name]} == {"gate_password", "log_reader_password"}
    assert set(after["gate_password"].values()) == {secrets.next("gate_password")}
    assert f'user_log_reader="{secrets.next("log_reader_password")}"' in (secrets.folder / "kafka/jaas.conf").read_text()


def test_satellites_have_both_of_the_appliers_passwords_from_the_offer_until_it_is_settled(secrets):
    """A satellite that comes up meanwhile lets in appliers that have read either."""
    secrets.do("next")
    old, new = secrets.values()["applier_password"]["satellite"], secrets.next("applier_password")
    file = secrets.folder / "satellite/applier_password"
    both = file.with_name("applier_password.next")
    for _ in 1, 2:
        secrets.do("offer")
        assert (file.read_text().strip(), both.read_text().strip()) == (old, new)
    secrets.do("take", *SERVICES)
    assert secrets.values()["applier_password"] == {"satellite": old, "applier": new}
    for _ in 1, 2:
        secrets.do("settle")
        assert secrets.values()["applier_password"] == {"satellite": new, "applier": new} and not both.exists()
    secrets.do("offer")
    assert not both.exists(), "there is no other"


def test_every_step_may_be_repeated(secrets):
    for step in (["next"], ["offer"], ["take", *SERVICES], ["settle"]):
        secrets.do(*step)
        once = secrets.files()
        secrets.do(*step)
        secrets.do()
        assert secrets.files() == once, step
    secrets.do("end")
    assert not [name for name in secrets.files() if "next" in name]


def test_an_unknown_step_is_refused(secrets):
    done = secrets.do("rotate", check=False)
    assert done.returncode == 64 and "take NAME..." in done.stderr
