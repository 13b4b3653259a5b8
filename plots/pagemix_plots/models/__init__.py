# SPDX-License-Identifier: Apache-2.0
"""Models: an IOTLB, prices of a hardware profile."""
