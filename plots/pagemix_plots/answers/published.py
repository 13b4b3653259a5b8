# SPDX-License-Identifier: Apache-2.0
"""Published figures beside what the prices and models here say of them: hits and misses.

Counts are worked out in each entry's `how`. A figure that a price was taken
from is no check of it and is left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..models import hardware, iotlb
from ..models.hardware import Range
from ..tables import mail

PAGE = 4096
# Measured under -icount on 6.12.95 and 7.3.4 arm64, SMMUv3, scattered order 0: a page's map.
MAP_INSTRUCTIONS = Range(683.0, 746.0)


@dataclass(frozen=True)
class Check:
    """One published figure. `projected` is an interval in `unit`."""

    what: str
    source: str
    published: float
    projected: Range
    unit: str
    how: str

    @property
    def hit(self) -> bool:
        """Within the interval, of which a digit may have been rounded away."""
        slack = 0.005 * abs(self.published)
        return self.projected.low - slack <= self.published <= self.projected.high + slack

    @property
    def words(self) -> str:
        span = f"{self.projected.low:.4g} to {self.projected.high:.4g}"
        verdict = "hit" if self.hit else f"MISS by {self.factor}"
        return (f"{verdict}: {self.what}: published {self.published:.4g} {self.unit}, projected "
                f"{span} ({self.how}; {self.source})")

    @property
    def factor(self) -> str:
        end = self.projected.low if self.published < self.projected.low else self.projected.high
        if min(end, self.published) <= 0:
            return f"{abs(end - self.published):.3g} {self.unit}"
        return f"{max(end, self.published) / min(end, self.published):.2f}x"


def random_miss(window: int, entries: float, leaf: int = PAGE) -> float:
    """Misses per access of independent random accesses: what is not in the IOTLB."""
    return max(0.0, 1 - entries * leaf / window)


def _latency() -> list[Check]:
    """64-byte read latency by window: base and miss from the profile, misses from the model."""
    broadwell = hardware.load("intel-broadwell")
    ns, entries = broadwell.prices["iotlb_miss"].ns, broadwell.entries.low
    result = []
    for window, published in ((256 << 10, 433.1), (512 << 10, 456.5), (1 << 20, 588.6),
                              (2 << 20, 654.7), (4 << 20, 691.6), (8 << 20, 704.0)):
        misses = random_miss(window, entries)
        base = Range(431.0, 433.0)
        result.append(Check(f"read latency at a window of {window >> 10} KiB", "pcie-bench",
                            published, base.plus(ns.times(misses)), "ns",
                            f"433 ns and {misses:.3g} misses of 64 entries"))
    return result


def _throughput() -> list[Check]:
    """Loss of 64-byte read throughput: the knee is right, the slope is not, as reads overlap."""
    broadwell = hardware.load("intel-broadwell")
    entries = broadwell.entries.low
    result = []
    for window, published in ((256 << 10, 0.3), (512 << 10, 31.3), (2 << 20, 62.7)):
        misses = random_miss(window, entries)
        # One walk at a time against as many as the reads in flight need: nothing is known between.
        most = 100 * (1 - 15.8 / (15.8 + 280 * misses))
        least = 0.0 if misses == 0 else 100 * (1 - 15.8 / (15.8 + 280 / 32 * misses))
        result.append(Check(f"64-byte reads lost at a window of {window >> 10} KiB", "pcie-bench",
                            published, Range(least, most + 0.3), "%",
                            f"15.8 ns a read, {misses:.3g} misses of 280 ns, 1 to 32 at once"))
    return result


def _maps() -> list[Check]:
    soc = hardware.load("snapdragon-8150")
    ns = soc.prices[hardware.INSTRUCTION].ns
    each = Range(MAP_INSTRUCTIONS.low * ns.low, MAP_INSTRUCTIONS.high * ns.high)
    result = [Check(f"map of {size >> 10} KiB of order 0", "list mail with the ASID TLBI patch",
                    us, each.times(size / PAGE / 1000), "us",
                    f"{size // PAGE} pages of 683 to 746 instructions")
              for size, us in ((64 << 10, 9.6), (1 << 20, 148.9), (32 << 20, 4747.0))]
    server = hardware.load("arm-smmuv3-server").prices[hardware.INSTRUCTION].ns
    result.append(Check("page-table-only map of 256 pages", "generic_pt cover letter", 389.0,
                        Range(MAP_INSTRUCTIONS.low * server.low * 256,
                              MAP_INSTRUCTIONS.high * server.high * 256), "ns",
                        "256 scattered pages; there they were one contiguous call"))
    return result


def _strict() -> list[Check]:
    """What strict invalidation adds to one operation, if it waits for one CMD_SYNC."""
    sync = hardware.load("arm-smmuv3-server").prices["smmu_cmd_sync"].ns
    grace = 1e9 / 2.8e6 - 1e9 / 16.4e6
    frame = 1500 * 8
    graviton = frame / 14.9 - frame / 39.8  # Gbit/s is bits a nanosecond
    return [Check("strict against lazy, a 4 KiB read, Grace, 8 SSDs", "NVIDIA kernel pull request "
                  "184", grace, sync, "ns", "one CMD_SYNC a read, waited for one after the other"),
            Check("strict against lazy, a 1,500-byte packet, Graviton 4", "lkml 2604.0/04252",
                  graviton, sync, "ns", "one CMD_SYNC a packet")]


def _jobs() -> list[Check]:
    """TLB misses of 10,000 jobs on 1 MB: one a leaf at most, if nothing is kept between jobs."""
    jobs = 10_000
    size = 1_000_000
    result = []
    for leaf, published in ((PAGE, 302_651.0), (2 << 20, 1_223.0)):
        most = math.ceil(size / leaf) * jobs
        kept = 1 if size <= 64 * leaf else 0  # fits 64 entries: only the first job misses
        least = most / jobs if kept else most
        result.append(Check(f"TLB misses with leaves of {leaf >> 10} KiB", "SVA list mail, "
                            "HiSilicon SEC", published, Range(least, float(most)), "misses",
                            f"{math.ceil(size / leaf)} leaves a job, without prefetch"))
    return result


def _model() -> list[Check]:
    """T = p / (l0 + M * lm) with no misses and with one a packet page."""
    price = hardware.load("fast-and-safe").prices["iotlb_miss"].ns
    return [Check("latency that a miss adds, Broadwell", "pcie-bench", 280.0, price, "ns",
                  "lm of Fast and Safe IO Memory Protection"),
            Check("latency that a miss adds, Ivy Bridge", "pcie-bench", 293.0,
                  hardware.load("arm-smmuv3-server").prices["iotlb_miss"].ns, "ns",
                  "the profile's range")]


def _reach() -> list[Check]:
    """Second passes of 512-byte NVMe reads, one a page, through QEMU's IOTLB: exact."""
    result = []
    for pages, leaf, published in ((240, PAGE, 0), (512, PAGE, 516), (512, 2 << 20, 0)):
        order = np.arange(pages) * PAGE
        misses = float(iotlb.drive_misses(iotlb.QEMU_SMMU, leaf, [order, order])[1])
        result.append(Check(f"QEMU: misses of a second pass over {pages} pages, "
                            f"{leaf >> 10} KiB leaves", "measured, QEMU 7.2", published,
                            Range(misses, misses), "misses",
                            "256 entries, emptied when full, and two queue pages"))
    return result


def checks() -> list[Check]:
    """Every published figure that one of the prices or models says something of."""
    return [*_latency(), *_throughput(), *_model(), *_maps(), *_strict(), *_jobs(), *_reach()]


def text() -> str:
    found = checks()
    lines = mail.wrap(f"PROJECTION against {len(found)} published figures: "
                      f"{sum(c.hit for c in found)} hits, "
                      f"{sum(not c.hit for c in found)} misses")
    for one in found:
        lines += ["", *mail.wrap(one.words)]
    return "\n".join(lines) + "\n"
