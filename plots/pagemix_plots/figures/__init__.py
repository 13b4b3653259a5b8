# SPDX-License-Identifier: Apache-2.0
"""Figures, and which of them a report shows."""
