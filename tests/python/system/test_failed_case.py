# SPDX-License-Identifier: Apache-2.0
"""A case that fails between its markers takes no other case's counts along."""

from __future__ import annotations

import subprocess
from pathlib import Path

from conftest import GUEST, PROFILES, SOURCE, load


def test_an_allocation_that_fails_keeps_the_others_counts(tmp_path: Path) -> None:
    """260 MiB in a guest of 512 MiB; without warm-up the first failure is a measured one."""
    done = subprocess.run(
        [GUEST, "run", "--machine", "smmuv3", "--memory", "512M", "--out", tmp_path / "out",
         "--quiet", "--", "pagemix", "run", "--config", f"{PROFILES}/quick.ini",
         "--families", "alloc,map_sgtable", "--mixes", "order9", "--layouts", "buddy",
         "--bytes", "10M,260M", "--blocks", "1", "--iterations", "3", "--warmup", "0"],
        check=False, cwd=SOURCE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    run = load(tmp_path / "out")
    failed = "alloc/mix:order9/layout:buddy/bytes:272629760"
    assert done.returncode == 1, done.stdout  # that of the program
    assert "ENOMEM" in {item["what"]: item["why"]
                        for item in run["context"]["pagemix"]["skipped"]}[failed]
    assert f"{failed} block 0: failed" in done.stdout
    assert {entry["name"].partition("/")[0] for entry in run["benchmarks"]} \
        == {"alloc", "map_sgtable"}
    for entry in run["benchmarks"]:
        assert ("smmu_cmd_tlbi" in entry) and (
            entry["name"].startswith("alloc") or entry["smmu_cmd_tlbi"] > 0), entry["name"]
