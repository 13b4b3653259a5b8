# SPDX-License-Identifier: Apache-2.0
"""How far apart two colours look: to full vision, without red or green cones, in grey."""

from __future__ import annotations

import math

import numpy as np

# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
_MACHADO = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
}
_LUMINANCE = [0.2126729, 0.7151522, 0.0721750]
VISIONS = {"full": np.eye(3), **{name: np.array(rows) for name, rows in _MACHADO.items()},
           "grey": np.array([_LUMINANCE] * 3)}
# IEC 61966-2-1, D65.
_XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], _LUMINANCE,
                 [0.0193339, 0.1191920, 0.9503041]])
_WHITE = _XYZ @ np.ones(3)


def linear(colour: str) -> np.ndarray:
    """'#rrggbb' as linear RGB of 0 to 1."""
    v = np.array([int(colour[i:i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)


def lab(colour: str, vision: str = "full") -> np.ndarray:
    """CIELAB (1976) of a colour as that vision sees it."""
    seen = np.clip(VISIONS[vision] @ linear(colour), 0, 1)
    ratio = _XYZ @ seen / _WHITE
    f = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def distance(one: str, other: str, vision: str = "full") -> float:
    """Delta E of CIE 1976: 2.3 is just noticeable side by side."""
    return float(np.linalg.norm(lab(one, vision) - lab(other, vision)))


def contrast(one: str, other: str) -> float:
    """WCAG 2: 1 to 21."""
    light, dark = sorted((float(np.dot(_LUMINANCE, linear(c))) for c in (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def nearest(colours: list[str], vision: str) -> float:
    """The least distance of any two."""
    return min((distance(a, b, vision) for i, a in enumerate(colours) for b in colours[:i]),
               default=math.inf)
