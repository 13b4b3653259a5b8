# SPDX-License-Identifier: Apache-2.0
"""Pages: report, site, README, index."""
