# SPDX-License-Identifier: Apache-2.0
"""Reads pagemix result folders and turns them into tables, figures and reports.

load -> stats -> tables -> figures, headline, check -> report. Result files are
the only input; docs/result-format.md is their contract.
"""
