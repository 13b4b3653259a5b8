# SPDX-License-Identifier: Apache-2.0
"""Tables of data, and how they are written."""
