"""What is logged, and what never is."""

from __future__ import annotations

import io
import logging
import logging.config
from collections.abc import Iterator

import pytest
import structlog

from chatsite import logs, settings

TOKEN = "a-tunnel-token"


@pytest.fixture
def output() -> Iterator[io.StringIO]:
    """What the site's own handler writes."""
    stream = io.StringIO()
    config = logs.configure(debug=False, secrets=[TOKEN, ""])
    config["handlers"]["stderr"]["stream"] = stream
    logging.config.dictConfig(config)
    yield stream
    logging.config.dictConfig(settings.LOGGING)


def test_a_line_has_its_values_and_where_it_comes_from(output: io.StringIO) -> None:
    structlog.get_logger("chat.link").info("joined", conversation="abc")
    (line,) = output.getvalue().splitlines()
    assert "event='joined'" in line
    assert "conversation='abc'" in line
    assert "logger='chat.link'" in line


def test_libraries_lines_look_the_same(output: io.StringIO) -> None:
    logging.getLogger("django.request").warning("Not Found: %s", "/nowhere")
    (line,) = output.getvalue().splitlines()
    assert "event='Not Found: /nowhere'" in line


@pytest.mark.parametrize("name", logs.QUIET)
def test_everyday_news_of_libraries_are_left_out(name: str, output: io.StringIO) -> None:
    logging.getLogger(name).info("connection open")
    assert output.getvalue() == ""


def test_the_tunnel_token_is_never_logged(output: io.StringIO) -> None:
    structlog.get_logger("chat").warning(f"sent {TOKEN}", header=f"tunnel {TOKEN}")
    try:
        raise OSError(TOKEN)
    except OSError:
        logging.getLogger("other").exception("refused %s", TOKEN)
    assert TOKEN not in output.getvalue()
    assert output.getvalue().count("[secret]") >= 4


def test_a_login_link_is_never_logged(output: io.StringIO) -> None:
    logging.getLogger("django.request").warning("Gone: /accounts/one-time/?sesame=AAAB_c-d&x=1")
    assert "?sesame=[secret]&x=1" in output.getvalue()
