"""Which hosts may be sent a key, and what is left of a server's words."""

from __future__ import annotations

import pytest

from pytest_fairmedagent.errors import ModelError
from pytest_fairmedagent.models.hosts import check_base_url, is_loopback, plain, refuse_key_abroad


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8000/v1", "http://127.0.0.1", "https://127.8.9.1:1/x", "http://[::1]:80",
        "localhost:11434", "127.0.0.1:11434",
    ],
)  # fmt: skip
def test_this_machine_is_loopback(url: str) -> None:
    assert is_loopback(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1.evil.example", "http://localhost.evil.example", "http://evil.example",
        "http://10.0.0.1", "http://0.0.0.0", "http://evil.example/localhost", "http://2130706433",
        "http://evil.example#@localhost", "http://evil.example?localhost", "", "http://[::2]",
    ],
)  # fmt: skip
def test_other_hosts_that_look_like_it_are_not(url: str) -> None:
    assert not is_loopback(url)


def test_project_configuration_sends_no_key_abroad_and_the_error_names_the_option() -> None:
    with pytest.raises(ModelError, match="comes from project configuration") as caught:
        refuse_key_abroad("https://evil.example/v1", trusted=False, key="SOME_KEY")
    assert "--fairmed-base-url=https://evil.example/v1" in str(caught.value)
    assert not caught.value.transient
    refuse_key_abroad("https://evil.example/v1", trusted=True, key="SOME_KEY")
    refuse_key_abroad("http://localhost:8000/v1", trusted=False, key="SOME_KEY")


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x", "http://", "http://x:99999", "x"])
def test_a_base_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ModelError, match="expected http://"):
        check_base_url(url)


def test_a_password_in_a_base_url_is_refused_without_repeating_it() -> None:
    with pytest.raises(ModelError, match="carries a user name or password") as caught:
        check_base_url("https://me:hunter22@host.example/v1")
    assert "hunter22" not in str(caught.value)


def test_a_servers_words_come_as_one_short_line_without_escapes_and_keys() -> None:
    words = "bad\x1b[31m key\r\n::error::secret-value and sk-ant-REDACTED " + "x" * 999
    shown = plain(words, ("secret-value", None, "none"))
    assert "secret-value" not in shown
    assert "sk-ant" not in shown
    assert "\x1b" not in shown
    assert "\n" not in shown
    assert len(shown) == 400
