# SPDX-License-Identifier: Apache-2.0
"""What a page says."""

from __future__ import annotations

import html
import re


def words_of(page: str) -> str:
    """The page's text, without style and markup."""
    page = re.sub(r"<style>.*?</style>", " ", page, flags=re.S)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)))
