"""What is logged, and what never is."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import logging.config
import traceback
from collections.abc import Iterator

import pytest
import structlog
from django.db import OperationalError

from chatsite import logs, settings

TOKEN = "a-tunnel-token"


SAID = "what somebody wrote"


def set_up(form: str = "text", level: str = "INFO", *, debug: bool = False) -> io.StringIO:
    """What the site's own handler writes from now on."""
    stream = io.StringIO()
    config = logs.configure(debug=debug, secrets=[TOKEN, ""], form=form, level=level)
    config["handlers"]["stderr"]["stream"] = stream
    logging.config.dictConfig(config)
    return stream


@pytest.fixture(autouse=True)
def _as_the_site_has_it() -> Iterator[None]:
    yield
    logging.config.dictConfig(settings.LOGGING)
    structlog.configure(cache_logger_on_first_use=False)  # as the tests' settings have it


@pytest.fixture
def output() -> io.StringIO:
    return set_up()


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
    assert output.getvalue().count("[secret]") == 3


def test_a_login_link_is_never_logged(output: io.StringIO) -> None:
    logging.getLogger("django.request").warning("Gone: /accounts/one-time/?sesame=AAAB_c-d&x=1")
    assert "?sesame=[secret]&x=1" in output.getvalue()


def test_a_line_is_json_where_that_is_asked_for() -> None:
    output = set_up("json")
    structlog.get_logger("chat.link").info("joined", conversation=7, request="r-1")
    logging.getLogger("django.request").warning("Not Found: %s", "/nowhere")
    first, second = map(json.loads, output.getvalue().splitlines())
    assert (first["event"], first["level"]) == ("joined", "info")
    assert (first["logger"], first["conversation"], first["request"]) == ("chat.link", 7, "r-1")
    assert (second["event"], second["logger"]) == ("Not Found: /nowhere", "django.request")


@pytest.mark.parametrize("form", logs.FORMATS)
def test_an_event_is_one_line_whatever_it_says(form: str) -> None:
    output = set_up(form)
    logging.getLogger("other").warning("first\nsecond\x1b[31m")
    try:
        raise ValueError
    except ValueError:
        logging.getLogger("other").exception("failed")
    assert len(output.getvalue().splitlines()) == 2
    assert "\x1b" not in output.getvalue()


@pytest.mark.parametrize(
    ("level", "heard"), [("DEBUG", 3), ("INFO", 2), ("WARNING", 1), ("ERROR", 0), ("CRITICAL", 0)]
)
def test_the_level_is_a_setting(level: str, heard: int) -> None:
    output = set_up(level=level)
    for name in ("chat.link", "chatsite"):
        log = logging.getLogger(name)
        for say in (log.debug, log.info, log.warning):
            say("something")
    assert len(output.getvalue().splitlines()) == 2 * heard


@pytest.mark.parametrize("name", ["django.db.backends", "markdown_it", "websockets.client"])
def test_what_libraries_say_at_debug_stays_unsaid(name: str) -> None:
    output = set_up(level="DEBUG")
    logging.getLogger(name).debug("INSERT INTO ... %s", SAID)
    assert output.getvalue() == ""


@pytest.mark.parametrize("form", logs.FORMATS)
@pytest.mark.parametrize("debug", [False, True])
def test_an_exception_is_told_by_type_and_place_not_by_its_words(form: str, debug: bool) -> None:
    output = set_up(form, debug=debug)
    try:
        try:
            raise KeyError(SAID)
        except KeyError as error:
            raise ExceptionGroup(SAID, [ValueError(SAID), error]) from error
    except ExceptionGroup as error:
        logging.getLogger("other").exception("failed")
        structlog.get_logger("chat").exception("failed", error=error)
        logging.getLogger("daphne").error("Exception inside application: %s", error)
        logging.getLogger("daphne").error("%(error)s", {"error": error})
        logging.getLogger("daphne").error(error)
        logging.getLogger("daphne").error(traceback.format_exc())
    assert SAID not in output.getvalue()
    for told in ("builtins.KeyError", "builtins.ValueError", "ExceptionGroup", "test_logs.py"):
        assert output.getvalue().count(told) >= 4


def test_what_a_system_says_of_itself_is_told() -> None:
    output = set_up()
    error = OperationalError(f"connection refused\nDETAIL: {SAID}")
    logging.getLogger("other").error("failed", exc_info=error)
    logging.getLogger("other").error("failed", exc_info=OSError(28, "No space left on device"))
    assert "OperationalError: connection refused" in output.getvalue()
    assert "OSError: No space left on device" in output.getvalue()
    assert SAID not in output.getvalue()


async def test_what_asyncio_adds_of_a_task_is_left_out(output: io.StringIO) -> None:
    async def fail(text: str) -> None:
        raise ValueError(text)

    loop = asyncio.get_running_loop()
    task = asyncio.create_task(fail(SAID))
    await asyncio.wait([task])
    message = "Task exception was never retrieved"
    loop.default_exception_handler(
        {"message": message, "exception": task.exception(), "future": task}
    )
    handle = loop.call_later(60, fail, SAID)
    message = f"Exception in callback {handle!r}"
    loop.default_exception_handler({"message": message, "handle": handle})
    handle.cancel()
    assert "event='Task exception was never retrieved'" in output.getvalue()
    assert "event='Exception in callback'" in output.getvalue()
    assert "builtins.ValueError" in output.getvalue()
    assert SAID not in output.getvalue()


@pytest.mark.parametrize("name", ["uvicorn.access", "uvicorn.error", "django.server"])
def test_a_servers_own_handlers_are_taken_off(name: str) -> None:
    own = io.StringIO()
    logger = logging.getLogger(name)
    handler = logging.StreamHandler(own)
    logger.addHandler(handler)
    logger.propagate = False
    output = set_up()
    logger.warning('"GET /accounts/one-time/?sesame=AAAB_c-d HTTP/1.1" 200')
    assert own.getvalue() == ""
    assert "?sesame=[secret] HTTP/1.1" in output.getvalue()


def test_a_cookie_is_never_logged(output: io.StringIO) -> None:
    logging.getLogger("other").warning("{'cookie': 'csrftoken=abc; sessionid=def'}")
    assert "csrftoken=[secret]; sessionid=[secret]'" in output.getvalue()
