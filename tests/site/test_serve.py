"""`manage.py serve` brings up the whole site, and takes all of it down again."""

from __future__ import annotations

import re
import stat
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.cookiejar import CookieJar

import pytest

from chat.management import serving
from tests.processes import PATIENCE_S, Agent, Site, alive

type MakeSite = Callable[..., Site]


class Visitor:
    """A browser without scripts: keeps cookies, follows redirects."""

    def __init__(self) -> None:
        self.cookies = CookieJar()
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(self.cookies)
        )

    def get(self, url: str) -> tuple[int, str, str]:
        """Status, the address it ended at, and the text."""
        try:
            with self._opener.open(url, timeout=PATIENCE_S) as answer:
                return answer.status, answer.url, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.url or "", error.read().decode()


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while alive(pid):
        assert time.monotonic() < deadline, f"process {pid} still runs"
        time.sleep(0.02)


def test_it_logs_in_once_and_a_second_start_keeps_everything(site: Site) -> None:
    visitor, late = Visitor(), Visitor()
    status, url, _ = visitor.get(f"{site.url}/")
    assert (status, url) == (200, f"{site.url}/accounts/login/?next=/")

    status, url, text = visitor.get(site.login_url)
    assert status == 200
    assert re.fullmatch(re.escape(site.url) + r"/(c/[\w-]+/)?", url)
    assert "data-conversation" in text

    late.get(site.login_url)
    assert late.get(f"{site.url}/")[1].startswith(f"{site.url}/accounts/login/")

    before = site.query("SELECT key, user_id FROM chat_conversation")
    assert len(before) == 1
    site.restart()
    assert site.query("SELECT key, user_id FROM chat_conversation") == before
    assert site.query("SELECT count(*) FROM auth_user") == [(1,)]
    assert visitor.get(url)[:2] == (200, url)


def test_the_user_is_staff_and_has_no_password_yet(shared_site: Site) -> None:
    columns = "is_staff, is_superuser, password"
    rows = shared_site.query(f"SELECT {columns} FROM auth_user WHERE username = 'local'")  # noqa: S608
    ((is_staff, is_superuser, password),) = rows
    assert (is_staff, is_superuser) == (1, 1)
    assert password.startswith("!")


def test_its_files_are_for_this_user_only(shared_site: Site) -> None:
    assert stat.S_IMODE(shared_site.data.stat().st_mode) == 0o700
    assert stat.S_IMODE((shared_site.data / "secret-key").stat().st_mode) == 0o600


def test_static_files_come_compressed_and_may_be_kept_for_ever(shared_site: Site) -> None:
    text = Visitor().get(f"{shared_site.url}/admin/login/")[2]
    found = re.search(r'href="(/static/admin/css/base\.[0-9a-f]{12}\.css)"', text)
    assert found
    request = urllib.request.Request(
        shared_site.url + found[1], headers={"Accept-Encoding": "gzip"}
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        assert answer.headers["Content-Encoding"] == "gzip"
        assert "immutable" in answer.headers["Cache-Control"]


@pytest.mark.parametrize("end", ["interrupt", "terminate"])
def test_it_ends_in_good_order_with_its_child(site: Site, end: str) -> None:
    child = site.agent_pid
    Visitor().get(site.login_url)
    assert site.command is not None
    assert getattr(site.command, end)() == 0
    assert not alive(child)
    assert site.output.endswith("Stopped.")
    assert "Traceback" not in site.output


def test_its_child_is_started_again_when_it_dies_and_does_not_outlive_a_kill(site: Site) -> None:
    site.restart_agent()
    started = re.findall(
        r"^Agent-server: embedded, (\S+), process (\d+)", site.output, re.MULTILINE
    )
    (first_url, first_pid), (second_url, second_pid) = started
    assert first_url == second_url
    assert first_pid != second_pid

    site.kill()
    wait_until_gone(int(second_pid))


def test_for_the_whole_network_it_draws_a_link_for_the_phone(make_site: MakeSite) -> None:
    lan = serving.lan_address()
    if not lan:
        pytest.skip("this machine has no address but loopback")
    site = make_site("--host", "0.0.0.0", PYTHONIOENCODING="utf-8")  # noqa: S104
    assert site.command is not None
    link = site.command.wait_for_line("On your phone: ")
    site.command.wait_for_line("The link works once")
    assert link.startswith(f"http://{lan}:")
    assert serving.qr_code(link).strip() in site.output
    status, url, _ = Visitor().get(link)
    assert status == 200
    assert url.startswith(f"http://{lan}:")


def test_another_host_name_is_turned_away(shared_site: Site) -> None:
    request = urllib.request.Request(shared_site.url, headers={"Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=PATIENCE_S)
    with refused.value:
        assert refused.value.code == 400


KEY = "no-key-that-anybody-else-would-use-0123456789"


def test_with_an_agent_server_given_none_is_embedded_and_no_secret_printed(
    make_site: MakeSite, agent: Agent
) -> None:
    site = make_site(
        TYPEAGENT_SERVER_URL=agent.url, TYPEAGENT_TUNNEL_TOKEN="hunter2-token", SECRET_KEY=KEY
    )
    assert "Agent-server: embedded" not in site.output
    visitor = Visitor()
    visitor.get(site.login_url)
    visitor.get(f"{site.url}/accounts/one-time/?sesame=hunter3-token")
    site.stop()
    for secret in ("hunter2-token", "hunter3-token", KEY):
        assert secret not in site.output


def test_a_new_link_logs_in_whom_it_is_for(shared_site: Site) -> None:
    visitor = Visitor()
    status, _, _ = visitor.get(shared_site.login_link("carol"))
    assert status == 200
    assert shared_site.query("SELECT is_staff FROM auth_user WHERE username = 'carol'") == [(0,)]
