# SPDX-License-Identifier: Apache-2.0
"""What the numbers say: sentences, comparisons, verdicts, projections."""
