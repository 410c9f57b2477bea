"""The closing line of `make test` counts what ran, and nothing that did not."""

import json

import pytest

import count


@pytest.fixture
def counted(tmp_path):
    def run(kind, status, text, reports=()):
        log = tmp_path / "log"
        log.write_text(text)
        for name, xml in dict(reports).items():
            (tmp_path / name).write_text(xml)
        return count.count(kind, status, str(log), str(tmp_path))

    return run


def test_cargo_sums_over_its_binaries_and_names_what_failed(counted):
    text = (
        "test a::b ... ok\ntest result: ok. 3 passed; 0 failed; 1 ignored; 0 measured\n"
        "test c ... FAILED\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\n"
    )
    assert counted("cargo", 101, text) == ((4, 1, 1), ["c"])


def test_go_counts_tests_and_not_their_subtests(counted):
    text = "=== RUN   TestA\n    --- FAIL: TestA/first (0.00s)\n--- FAIL: TestA (0.10s)\n--- PASS: TestB (0.00s)\n--- SKIP: TestC (0.00s)\nFAIL\n"
    assert counted("go", 1, text) == ((1, 1, 1), ["TestA"])


def test_junit_reports(counted):
    xml = """<testsuites><testsuite><testcase classname="A" name="good"/><testcase classname="A" name="bad"><failure message="it was
            not good"/></testcase>
        <testcase classname="A" name="broken"><error/></testcase><testcase classname="A" name="not here"><skipped/></testcase></testsuite></testsuites>"""
    assert counted("junit", 1, "", {"x.xml": xml}) == ((1, 2, 1), ["A: bad: it was not good", "A: broken"])


def test_a_closing_line(counted):
    assert counted("closing", 1, "FAILED: it broke\n3 passed, 1 failed, 2 skipped\n") == ((3, 1, 2), ["it broke"])


@pytest.mark.parametrize("kind", ["cargo", "junit", "closing"])
def test_a_suite_that_says_nothing_is_a_failure(counted, kind):
    assert counted(kind, 0, "error: could not compile")[0] == (0, 1, 0)


def test_a_suite_that_ends_badly_though_nothing_failed_is_a_failure(counted):
    assert counted("cargo", 101, "test result: ok. 3 passed; 0 failed; 0 ignored")[0] == (3, 1, 0)


def test_nothing_that_ran_is_not_a_success(tmp_path, capsys):
    (tmp_path / "counts").write_text("")
    assert count.total(str(tmp_path / "counts")) == 1
    (tmp_path / "counts").write_text("a\t2\t0\t1\nb\t3\t0\t0\n")
    assert count.total(str(tmp_path / "counts")) == 0
    assert capsys.readouterr().out.endswith("5 passed, 0 failed, 1 skipped\n")


def test_the_slowest_tests_come_first_below_the_seconds_of_each_suite(tmp_path, capsys):
    (tmp_path / "counts").write_text("a\t1\t0\t0\t61\nb\t0\t0\t1\t0\n")
    place = tmp_path / "stack-main"
    place.mkdir()
    cases = "".join(f'<testcase classname="T" name="t{number}" time="{number}.5"/>' for number in range(30))
    (place / "x.xml").write_text(f"<testsuite>{cases}</testsuite>")
    assert count.main(["slowest", str(tmp_path / "counts"), str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["seconds per suite:", "       61  a", "        0  b"]
    assert lines[3:5] == ["the slowest files, in seconds:", "    450.0  T"]
    assert len(lines) == 6 + 20 and lines[6].split() == ["29.5", "T:", "t29"]
    assert json.loads((tmp_path / "durations.json").read_text()) == {"T": 450.0}
