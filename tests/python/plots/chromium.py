# SPDX-License-Identifier: Apache-2.0
"""Chromium for tests, None where it is not installed, and how it is started without a screen."""

from __future__ import annotations

import shutil

CHROMIUM = shutil.which("chromium")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--enable-logging=stderr", "--virtual-time-budget=20000"]
