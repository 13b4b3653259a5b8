# SPDX-License-Identifier: Apache-2.0
"""The site: complete, quiet and readable in Chromium, honest about what is not published."""

from __future__ import annotations

import csv
import html
import json
import pathlib
import re
import shutil
import subprocess
import urllib.parse
import xml.etree.ElementTree as ET
from typing import Any

import make_run
import pytest
from chromium import CHROMIUM, FLAGS
from make_use import make_use_run
from pagemix_plots.pages import site
from pagemix_plots.run.fields import RunError

WIDTH = 360
# Opens every page in a frame of a phone's width and looks at it; on the index it
# sets each filter and counts the rows. Contrast as WCAG 2 defines it.
PROBE = """<!DOCTYPE html><meta name="color-scheme" content="light dark"><body>FRAMES<script>
function channel(v) { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }
function light(c) { const [r, g, b] = c.match(/[\\d.]+/g).map(Number);
  return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b); }
function under(e, view) { for (; e; e = e.parentElement) {
  const c = view.getComputedStyle(e).backgroundColor;
  if (!/, 0\\)$/.test(c) && c !== "transparent") return c; } return "rgb(255, 255, 255)"; }
addEventListener("load", () => {
  const results = [...document.querySelectorAll("iframe")].map(frame => {
    const page = frame.contentDocument, view = frame.contentWindow, root = page.documentElement;
    page.querySelectorAll("details").forEach(d => d.open = true);
    const faint = [];
    for (const e of page.querySelectorAll("body *")) {
      if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
      if (["SCRIPT", "STYLE", "TITLE", "title", "desc"].includes(e.tagName)) continue;
      const style = view.getComputedStyle(e);
      const ink = e.namespaceURI.endsWith("svg") ? style.fill : style.color;
      const [a, b] = [light(ink), light(under(e, view))].sort((x, y) => y - x);
      if ((a + 0.05) / (b + 0.05) < 4.5) faint.push(e.tagName + " " + e.textContent.slice(0, 40));
    }
    const filtered = [...page.querySelectorAll("select[data-filter]")].flatMap(s =>
      [...s.options].filter(o => o.value).map(o => {
        s.value = o.value; s.dispatchEvent(new Event("change"));
        const shown = [...page.querySelectorAll("#runs tbody tr")].filter(
          r => r.getBoundingClientRect().height > 0);
        const result = [s.dataset.filter, o.value, shown.length,
          shown.every(r => r.dataset[s.dataset.filter] === o.value),
          Number(page.getElementById("shown").textContent)];
        s.value = ""; s.dispatchEvent(new Event("change"));
        return result;
      }));
    return {content: root.scrollWidth, width: root.clientWidth, faint, filtered,
            dark: view.matchMedia("(prefers-color-scheme: dark)").matches};
  });
  document.body.setAttribute("data-results", JSON.stringify(results));
});
</script>"""


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A site of three runs: two machines and one with the use families."""
    base = tmp_path_factory.mktemp("site")
    few: dict[str, Any] = {"mixes": ("order0", "order4", "8-4-0", "9-4-0")}
    make_run.make_run(base / "results" / "2026-01-31-smmuv3", **few)
    make_run.make_run(base / "results" / "2026-01-30-virtio", machine="virtio-iommu",
                      started="2026-01-30T00:00:00Z", **few)
    make_use_run(base / "results" / "2026-01-29-use", clock="hardware-ns", noise=0.01)
    (base / "results" / "README.md").write_text("not a run")
    site.publish(base / "results", base / "out")
    return base / "out"


def pages(root: pathlib.Path) -> list[pathlib.Path]:
    return sorted(root.rglob("*.html"))


def test_pages_of_the_site(published: pathlib.Path) -> None:
    assert [str(p.relative_to(published)) for p in pages(published)] == [
        "2026-01-29-use/index.html", "2026-01-30-virtio/index.html",
        "2026-01-31-smmuv3/index.html",
        "compare-2026-01-30-virtio-2026-01-31-smmuv3.html", "index.html"]


def test_links_resolve(published: pathlib.Path) -> None:
    for page in pages(published):
        text = page.read_text(encoding="utf-8")
        for link in re.findall(r'(?:href|src)="([^"]+)"', text):
            if link.startswith("#"):
                assert f'id="{link[1:]}"' in text, (page, link)
            elif link != "data:,":
                assert (page.parent / urllib.parse.unquote(link)).is_file(), (page, link)


def test_nothing_comes_from_elsewhere(published: pathlib.Path) -> None:
    for page in pages(published):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)", text), page


def test_every_figure_has_its_file_data_and_words(published: pathlib.Path) -> None:
    for page in pages(published):
        for figure in re.findall(r"<figure>.*?</figure>", page.read_text(encoding="utf-8"), re.S):
            root = ET.fromstring(re.search(r"<svg.*</svg>", figure, re.S)[0])  # type: ignore[index]
            assert root.attrib["role"] == "img" and root[0].text and root[1].text
            files = re.findall(r'href="([^"]+\.(?:svg|csv))"', figure)
            assert len(files) == 2, page
            with (page.parent / files[1]).open(encoding="utf-8") as stream:
                rows = list(csv.reader(stream))
            assert len(rows) >= 2 and len({len(row) for row in rows}) == 1, files[1]


def test_the_first_page_answers(published: pathlib.Path) -> None:
    text = (published / "index.html").read_text(encoding="utf-8")
    words = html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text)))
    assert "For a 10 MiB buffer, choose 9-4-0 over 8-4-0, however often it is mapped. Why: with " \
        "9-4-0 the IOMMU gets 5 x 2 MiB for its page-table entries, with 8-4-0" in words
    assert "9-4-0 always pays off against 8-4-0" in words
    assert "Keep in mind." in words and "They are not time" in words
    assert text.count("<figure>") == 1


def test_the_verdict_tops_each_run(published: pathlib.Path) -> None:
    page = (published / "2026-01-31-smmuv3" / "index.html").read_text(encoding="utf-8")
    assert page.index("Which mix pays off") < page.index('<section id="headline">')


@pytest.mark.parametrize("change, message", [
    ({"clock": "emulated-ns"}, "clock emulated-ns is noise and is not published"),
    ({"complete": False}, "the run was interrupted and is not published")])
def test_what_is_not_published(tmp_path: pathlib.Path, change: dict[str, Any], message: str
                               ) -> None:
    make_run.make_run(tmp_path / "results" / "bad", mixes=("order0",), **change)
    with pytest.raises(RunError, match=f"bad: {message}"):
        site.publish(tmp_path / "results", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_empty_folder_is_named(tmp_path: pathlib.Path) -> None:
    with pytest.raises(RunError, match="holds no run"):
        site.publish(tmp_path, tmp_path / "out")
    with pytest.raises(RunError, match="not a folder"):
        site.publish(tmp_path / "none", tmp_path / "out")


def test_the_same_runs_give_the_same_bytes(published: pathlib.Path, tmp_path: pathlib.Path
                                           ) -> None:
    site.publish(published.parent / "results", tmp_path / "again")
    for page in pages(published):
        assert page.read_bytes() == (tmp_path / "again" / page.relative_to(published)).read_bytes()


def look(tmp_path: pathlib.Path, files: list[pathlib.Path], dark: bool
         ) -> tuple[list[dict[str, Any]], list[str]]:
    frames = "".join(f'<iframe style="width: {WIDTH}px; height: 3000px; border: 0" srcdoc="'
                     f'{html.escape(f.read_text(encoding="utf-8"), quote=True)}"></iframe>'
                     for f in files)
    wrapper = tmp_path / "probe.html"
    wrapper.write_text(PROBE.replace("FRAMES", frames), encoding="utf-8")
    assert CHROMIUM
    done = subprocess.run(
        [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1400,4000",
         f"--blink-settings=preferredColorScheme={0 if dark else 1}", "--dump-dom",
         wrapper.as_uri()], capture_output=True, text=True, timeout=180)
    found = re.search(r'data-results="([^"]*)"', done.stdout)
    assert found, done.stderr[-2000:]
    return json.loads(html.unescape(found.group(1))), re.findall(r".*CONSOLE.*", done.stderr)


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_on_a_phone(published: pathlib.Path, tmp_path: pathlib.Path, dark: bool) -> None:
    files = pages(published)
    results, console = look(tmp_path, files, dark)
    assert console == []
    for file, result in zip(files, results, strict=True):
        assert result["dark"] == dark
        assert result["content"] <= result["width"] <= WIDTH, file
        assert result["faint"] == [], file
    filtered = {(key, value): (shown, right, said)
                for key, value, shown, right, said in results[-1]["filtered"]}
    assert filtered[("machine", "smmuv3")] == (2, True, 2)
    assert filtered[("machine", "virtio-iommu")] == (1, True, 1)
    assert filtered[("clock", "hardware-ns")] == (1, True, 1)
    assert filtered[("domain", "strict")] == (3, True, 3)


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_the_probe_sees_faint_text(tmp_path: pathlib.Path) -> None:
    page = tmp_path / "faint.html"
    page.write_text('<!DOCTYPE html><body style="background: #fff"><p style="color: #999">faint</p>'
                    '<p style="color: #555">well</p><svg><text fill="#aaa">pale</text></svg>')
    results, _ = look(tmp_path, [page], dark=False)
    assert results[0]["faint"] == ["P faint", "text pale"]


def test_command(published: pathlib.Path, program: pathlib.Path, tmp_path: pathlib.Path) -> None:
    done = subprocess.run([program, "publish", published.parent / "results", tmp_path / "s"],
                          capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.strip() == str(tmp_path / "s" / "index.html")
    module = subprocess.run(["/usr/bin/python3", "-m", "pagemix_plots", "headline",
                             published.parent / "results" / "2026-01-31-smmuv3"],
                            capture_output=True, text=True, cwd=program.parent)
    assert module.returncode == 0 and "smmuv3" in module.stdout
    shutil.rmtree(tmp_path / "s")
