# SPDX-License-Identifier: Apache-2.0
"""Turns a matplotlib figure into SVG for a page or a file: same input, same bytes.

Text stays text, ink follows the reader's colour scheme, ids do not collide when
several figures share a page, and nothing refers to another host.
"""

from __future__ import annotations

import io
import re
from html import escape

import matplotlib
from matplotlib.figure import Figure

matplotlib.use("svg")

# Stand-ins that matplotlib draws with; they become the reader's ink and grid.
INK = "#010203"
GRID = "#040506"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
# One grey that is legible on white and on a dark page, for files shown as images.
NEUTRAL_INK = "#737b85"

STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "pagemix",
    "font.family": "DejaVu Sans",  # wider than the system fonts of FONT: labels never grow
    "font.size": 10.5,
    "text.parse_math": False,  # a run's names may hold a $
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "axes.linewidth": 0.8,
    "axes.titlesize": 11.5,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "hatch.linewidth": 0.8,
    "lines.linewidth": 1.8,
    "lines.markersize": 6.5,
    "legend.frameon": False,
    "legend.fontsize": 10,
    "legend.handlelength": 2.2,
}


def render(figure: Figure, slug: str, title: str, description: str) -> str:
    """The figure as an <svg> element to be put into a page. `slug` must be unique on the page."""
    buffer = io.StringIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(buffer, format="svg", transparent=True,
                       metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = buffer.getvalue()
    text = text[text.index("<svg"):].strip()
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.S)
    text = re.sub(r'<style type="text/css">.*?</style>\s*', "", text, flags=re.S)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{slug}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{slug}-\1)", text)
    text = re.sub(r'(?:xlink:)?href="#([^"]+)"', rf'href="#{slug}-\1"', text)
    # The font family is said once, on the root.
    text = re.sub(r"font: (?:(\d+) )?([\d.]+)px 'DejaVu Sans'",
                  lambda m: (f"font-weight: {m[1]}; " if m[1] else "") + f"font-size: {m[2]}px",
                  text)
    text = re.sub(r' transform="rotate\(-0 [^)]*\)"', "", text)
    text = text.replace(INK, "currentColor").replace(GRID, "var(--grid, #8b949e55)")
    return re.sub(r"<svg[^>]*>", lambda m: _head(m.group(0), slug, title, description), text,
                  count=1)


def _head(tag: str, slug: str, title: str, description: str) -> str:
    view = re.search(r'viewBox="([^"]+)"', tag)
    assert view, "matplotlib writes a viewBox"
    width = float(view.group(1).split()[2])
    return (f'<svg viewBox="{view.group(1)}" role="img" '
            f'aria-labelledby="{slug}-title {slug}-desc" stroke-linejoin="round" '
            f'style="font-family: {FONT}; max-width: {width * 1.35:.0f}px">\n'
            f'<title id="{slug}-title">{escape(title)}</title>\n'
            f'<desc id="{slug}-desc">{escape(description)}</desc>')


def standalone(element: str) -> str:
    """An element from `render` as a file of its own, legible on light and dark pages."""
    view = re.search(r'viewBox="[\d.]+ [\d.]+ ([\d.]+) ([\d.]+)"', element)
    assert view, "render writes a viewBox"
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{view.group(1)}pt" '
            f'height="{view.group(2)}pt" color="{NEUTRAL_INK}" ')
    body = re.sub(r"; max-width: \d+px", "", element, count=1)
    return ('<?xml version="1.0" encoding="utf-8"?>\n'
            + body.replace("<svg ", head, 1).replace("var(--grid, #8b949e55)", "#8b949e55") + "\n")
