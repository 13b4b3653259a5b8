# SPDX-License-Identifier: Apache-2.0
"""Reads pagemix result folders and turns them into tables, figures and reports.

run -> tables -> answers, figures -> pages (docs/internals.md). Result files are the
only input; docs/result-format.md is their contract.
"""
