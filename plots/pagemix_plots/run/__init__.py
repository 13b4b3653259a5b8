# SPDX-License-Identifier: Apache-2.0
"""What is read: run folders, traces, counters.ini."""
