# SPDX-License-Identifier: Apache-2.0
"""Chromium shows the page without errors, overflow or cut-off text, in both colour schemes."""

from __future__ import annotations

import html
import json
import pathlib
import re
import subprocess
from typing import Any

import pytest
from chromium import CHROMIUM, FLAGS
from pagemix_plots.pages import report
from pagemix_plots.run.load import load_run

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
WIDTHS = (360, 768, 1280)

# The page sits in frames of the wanted widths, as headless Chromium's own
# windows have a least width. Frames of a srcdoc may be looked into.
WRAPPER = """<!DOCTYPE html><meta name="color-scheme" content="light dark">
<body>FRAMES<script>
addEventListener("load", () => {
  const results = [...document.querySelectorAll("iframe")].map(frame => {
    const page = frame.contentDocument, root = page.documentElement;
    page.querySelectorAll("details").forEach(d => d.open = true);
    const cut = [];
    for (const svg of page.querySelectorAll("figure svg")) {
      const box = svg.getBoundingClientRect();
      for (const text of svg.querySelectorAll("text")) {
        const r = text.getBoundingClientRect();
        if (r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 ||
            r.bottom > box.bottom + 1) cut.push(text.textContent);
      }
    }
    return {width: root.clientWidth, content: root.scrollWidth, cut,
            dark: frame.contentWindow.matchMedia("(prefers-color-scheme: dark)").matches,
            page: getComputedStyle(page.body).backgroundColor,
            ink: getComputedStyle(page.querySelector("figure text")).fill};
  });
  document.body.setAttribute("data-results", JSON.stringify(results));
});
</script>"""


def show(tmp_path: pathlib.Path, page: str, dark: bool) -> tuple[list[dict[str, Any]], list[str]]:
    """What each frame measured, and Chromium's console lines."""
    frames = "".join(f'<iframe style="width: {width}px; height: 4000px; border: 0" '
                     f'srcdoc="{html.escape(page, quote=True)}"></iframe>' for width in WIDTHS)
    file = tmp_path / "frames.html"
    file.write_text(WRAPPER.replace("FRAMES", frames), encoding="utf-8")
    assert CHROMIUM
    result = subprocess.run(
        [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1400,4000",
         f"--blink-settings=preferredColorScheme={0 if dark else 1}", "--dump-dom", file.as_uri()],
        capture_output=True, text=True, timeout=120)
    found = re.search(r'data-results="([^"]*)"', result.stdout)
    assert found, result.stderr[-2000:]
    return json.loads(html.unescape(found.group(1))), re.findall(r".*CONSOLE.*", result.stderr)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_page_fits_and_is_quiet(both: list[pathlib.Path], tmp_path: pathlib.Path, dark: bool
                                ) -> None:
    page = report.write([load_run(f) for f in both], tmp_path / "out").read_text(encoding="utf-8")
    results, console = show(tmp_path, page, dark)
    assert console == []
    assert len(results) == len(WIDTHS)
    for width, result in zip(WIDTHS, results, strict=True):
        assert result["dark"] == dark
        assert width - 20 <= result["width"] <= width  # less a scroll bar
        assert result["content"] <= result["width"], f"overflow at {width} px"
        assert result["cut"] == [], f"at {width} px"
        assert result["page"] == ("rgb(20, 23, 26)" if dark else "rgb(255, 255, 255)")
        assert result["ink"] == ("rgb(228, 232, 236)" if dark else "rgb(28, 32, 36)")


def test_the_measurement_sees_faults(tmp_path: pathlib.Path) -> None:
    """Overflow, cut text and a console error are found where they are."""
    page = ('<!DOCTYPE html><p style="width: 900px">wide</p><script>console.error("loud")</script>'
            '<figure><svg viewBox="0 0 100 20" style="width: 100px"><text x="90" y="15">cut off'
            "</text></svg></figure>")
    results, console = show(tmp_path, page, dark=False)
    assert [r["content"] > r["width"] for r in results] == [True, True, False]
    assert all(r["cut"] == ["cut off"] for r in results)
    assert len(console) == len(WIDTHS) and all("loud" in line for line in console)
