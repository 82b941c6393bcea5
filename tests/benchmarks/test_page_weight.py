"""What a browser has to fetch for a page: scripts and styles, as sent. Not timed: always run."""

from __future__ import annotations

import re
from http.cookiejar import CookieJar
from urllib.request import HTTPCookieProcessor, Request, build_opener

from tests.processes import Site

BUDGET_BYTES = 40_000


def test_scripts_and_styles_weigh_at_most_40_kilobytes(shared_site: Site) -> None:
    browser = build_opener(HTTPCookieProcessor(CookieJar()))
    page = browser.open(shared_site.login_link("weigher")).read().decode()
    addresses = re.findall(r'(?:src|href)="(/static/[^"]+\.(?:js|css))"', page)
    assert len(addresses) >= 3
    weights = {}
    for address in addresses:
        asked = Request(shared_site.url + address, headers={"Accept-Encoding": "gzip"})
        with browser.open(asked) as answer:
            assert answer.headers["Content-Encoding"] == "gzip", address
            weights[address] = len(answer.read())
    total = sum(weights.values())
    print(f"\nscripts and styles as sent: {total / 1000:.1f} kB")  # noqa: T201
    assert total <= BUDGET_BYTES, weights
