# SPDX-License-Identifier: Apache-2.0
"""Manual pages and bash completion from option tables.

tables (from pagemix_describe's JSON, from argparse) -> roff, completion.
"""
