"""Who may write into the log: what stands there is SQL that every satellite executes."""

import pytest

from support import compose as containers
from support.broker import SASL_AUTHENTICATION_FAILED, TOPIC, TOPIC_AUTHORIZATION_FAILED, Broker


def broker_for(stack, account, service):
    password = (stack.secrets / service / f"{account}_password").read_text().strip()
    return Broker(containers.address("kafka"), account, password)


def test_who_has_no_account_cannot_write_into_the_log(stack):
    with Broker(containers.address("kafka")) as anonymous, pytest.raises(ConnectionError):
        anonymous.append()


def test_a_wrong_password_is_refused(stack):
    with Broker(containers.address("kafka"), "log_writer", "wrong") as stranger:
        assert stranger.login_error == SASL_AUTHENTICATION_FAILED


def test_an_appliers_account_cannot_write_into_the_log(stack):
    with broker_for(stack, "log_reader", "applier") as applier:
        assert applier.append() == TOPIC_AUTHORIZATION_FAILED


def test_an_appliers_account_cannot_make_or_remove_a_topic(stack):
    with broker_for(stack, "log_reader", "applier") as applier:
        assert applier.create_topic("other") == TOPIC_AUTHORIZATION_FAILED
        assert applier.delete_topic(TOPIC) == TOPIC_AUTHORIZATION_FAILED


def test_captures_account_can_write_and_make_a_topic(stack):
    """Else the tests above could pass because nothing works."""
    with broker_for(stack, "log_writer", "capture") as capture:
        assert capture.append() not in (0, TOPIC_AUTHORIZATION_FAILED)
        assert capture.create_topic("other") == 0


def test_capture_with_a_wrong_password_says_so_and_ends(stack):
    done = stack.compose(
        "run",
        "--rm",
        "--no-deps",
        "-T",
        "-e",
        "LOG_WRITER_PASSWORD_FILE=",
        "-e",
        "LOG_WRITER_PASSWORD=wrong",
        "capture",
        "capture",
        check=False,
        timeout=60,
    )
    text = done.stdout + done.stderr
    assert done.returncode == 77, text
    assert "refuses account log_writer" in text and "LOG_AUTHENTICATION" in text
    assert "wrong" not in text.replace("Invalid username or password", "")
