# SPDX-License-Identifier: Apache-2.0
"""Statistics of samples."""
