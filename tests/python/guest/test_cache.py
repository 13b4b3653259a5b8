# SPDX-License-Identifier: Apache-2.0
"""Where the cache is: as scripts/test and scripts/package find it."""

from pathlib import Path

import pytest
from pagemix_guest import cache


@pytest.mark.parametrize("pagemix, xdg, root", [
    ("/own", "/xdg", "/own"), ("", "/xdg", "/xdg/pagemix"), ("", "", "/home/me/.cache/pagemix")])
def test_the_root(monkeypatch: pytest.MonkeyPatch, pagemix: str, xdg: str, root: str) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    for name, value in (("PAGEMIX_CACHE", pagemix), ("XDG_CACHE_HOME", xdg)):
        monkeypatch.setenv(name, value)  # empty counts as not set
    assert cache.cache_root() == Path(root)
