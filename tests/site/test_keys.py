"""The secret key that the site makes for itself."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from chatsite.keys import kept_secret_key


def test_it_is_made_once_and_kept_private(tmp_path: Path) -> None:
    first = kept_secret_key(tmp_path / "key")
    assert len(first) >= 50
    assert kept_secret_key(tmp_path / "key") == first
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_processes_that_start_together_get_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(kept_secret_key, [tmp_path / "key"] * 40))
    assert len(keys) == 1


def test_a_folder_that_is_not_there_is_a_wrong_setting(tmp_path: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"^SECRET_KEY is not set and none can be kept"):
        kept_secret_key(tmp_path / "missing" / "key")


def test_an_empty_file_is_a_wrong_setting(tmp_path: Path) -> None:
    (tmp_path / "key").touch()
    with pytest.raises(ImproperlyConfigured, match=r"^SECRET_KEY is not set .* is empty"):
        kept_secret_key(tmp_path / "key")
