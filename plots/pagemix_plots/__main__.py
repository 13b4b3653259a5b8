# SPDX-License-Identifier: Apache-2.0
"""python3 -m pagemix_plots: the same as plots/pagemix-report."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
