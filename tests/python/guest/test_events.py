# SPDX-License-Identifier: Apache-2.0
"""Counts by phase from QEMU's text trace.

data/*-qemu-7.2.trace are cut from real boots (QEMU 7.2.22, kernel 6.12.117, profile
quick); the *-qemu-10.trace ones are the same events as later QEMUs spell them.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pagemix_guest.events import Joined, Parser, counters_of, merge, missing_columns, parse_trace

DATA = Path(__file__).parent / "data"
SPELLINGS = ("7.2", "10")
ORDER9 = "unmap_sgtable/mix:order9/layout:buddy/bytes:10485760"
ORDER8 = "unmap_sgtable/mix:order8/layout:scattered/bytes:10485760"
SMMU = ("smmuv3_cmdq_opcode", "smmu_iotlb_lookup_hit", "smmu_iotlb_lookup_miss",
        "smmu_iotlb_insert")


def real(name: str) -> list[bytes]:
    return (DATA / name).read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize("qemu", SPELLINGS)
def test_smmuv3(qemu: str) -> None:
    parser = parse_trace(real(f"smmuv3-qemu-{qemu}.trace"))
    assert parser.problems == []
    assert [(phase.name, phase.block, phase.iterations) for phase in parser.phases] == [
        (ORDER9, 0, 5), (ORDER8, 0, 5)]
    # 5 iterations: one command pair for 2 MiB leaves, six for 4 KiB ones
    assert parser.phases[0].counts == {"smmu_cmd_tlbi": 5, "smmu_cmd_sync": 5}
    assert parser.phases[1].counts == {"smmu_cmd_tlbi": 30, "smmu_cmd_sync": 30}
    # the warm-up cycle between them, and what came before
    assert parser.outside.counts == {"smmu_cmd_tlbi": 7, "smmu_cmd_sync": 7, "iotlb_miss": 1,
                                     "iotlb_hit": 4}
    assert parser.outside.insert_levels == {3: 1}


@pytest.mark.parametrize("qemu", SPELLINGS)
def test_virtio_iommu(qemu: str) -> None:
    parser = parse_trace(real(f"virtio-iommu-qemu-{qemu}.trace"))
    assert parser.problems == []
    assert [phase.counts for phase in parser.phases] == [
        {"viommu_map": 10, "viommu_unmap": 10}, {"viommu_map": 45, "viommu_unmap": 10}]


def test_vt_d() -> None:
    parser = parse_trace(real("intel-iommu-qemu-7.2.trace"))
    assert parser.problems == []
    # 5 iterations: one invalidation for a whole buffer, one for each 512 runs of type1
    assert [(phase.name, phase.iterations, phase.counts) for phase in parser.phases] == [
        (ORDER9, 5, {"vtd_inv_iotlb": 5, "vtd_inv_wait": 5}),
        ("vfio_unmap/mix:order0/layout:scattered/bytes:10485760", 5,
         {"vtd_inv_iotlb": 25, "vtd_inv_wait": 25})]


# Traces made by hand, in either spelling.

def chars(text: str, style: str = "7.2") -> list[bytes]:
    form = {"7.2": "pl011_write addr 0x00000000 value 0x%08x\n",
            "10": "42@17.5:pl011_write addr 0x000 value 0x%08x reg DR\n"}[style]
    return [(form % ord(char)).encode() for char in text]


TLBI = b"smmuv3_cmdq_opcode <--- SMMU_CMD_TLBI_NH_VA\n"
SYNC = b"smmuv3_cmdq_opcode <--- SMMU_CMD_SYNC\n"
VTD_IOTLB = b"vtd_inv_desc invalidate desc type iotlb high 0xfb00000c low 0x20032\n"
VTD_WAIT = b"vtd_inv_desc invalidate desc type wait high 0x7fbd low 0x200000025\n"
OTHER = b"smmuv3_cmdq_opcode <--- SMMU_CMD_CFGI_STE\n"


def begin(name: str, block: int = 0) -> list[bytes]:
    return chars(f"@pagemix begin {name} {block}\r\n")


def end(name: str, iterations: int, block: int = 0) -> list[bytes]:
    return chars(f"@pagemix end {name} {block} {iterations}\r\n")


def lookup(kind: str, hit: int, miss: int) -> bytes:
    return (f"smmu_iotlb_lookup_{kind.lower()} IOTLB cache {kind} asid=1 addr=0x1000 "
            f"hit={hit} miss={miss} hit rate=50\n").encode()


def only(parser: Parser) -> dict[str, int]:
    phase, = parser.phases
    return dict(phase.counts)


def test_only_events_between_the_markers() -> None:
    parser = parse_trace([TLBI, *begin("a"), TLBI, SYNC, OTHER, *end("a", 1), SYNC])
    assert only(parser) == {"smmu_cmd_tlbi": 1, "smmu_cmd_sync": 1}
    assert parser.outside.counts == {"smmu_cmd_tlbi": 1, "smmu_cmd_sync": 1}


def test_every_invalidation_counts_as_one() -> None:
    kinds = (b"NH_ALL", b"NH_ASID", b"NH_VA", b"NH_VAA", b"EL2_ALL", b"S2_IPA", b"NSNH_ALL")
    lines = [b"smmuv3_cmdq_opcode <--- SMMU_CMD_TLBI_" + kind + b"\n" for kind in kinds]
    assert only(parse_trace([*begin("a"), *lines, *end("a", 1)])) == {"smmu_cmd_tlbi": 7}


def test_kernel_message_inside_a_marker() -> None:
    text = "@pagemix be[    1.234567] edu 0000:00:02.0: words\r\ngin a/b:c 3\r\n"
    parser = parse_trace([*chars(text), TLBI, *chars("[    1.3"), *chars("00000] x\n"),
                          *end("a/b:c", 1, block=3)])
    assert only(parser) == {"smmu_cmd_tlbi": 1}
    assert parser.phases[0].block == 3 and parser.problems == []


def test_progress_before_a_marker() -> None:
    parser = parse_trace([*chars("\r\x1b[K[ 1/2] a 3 s left"), *begin("a"), TLBI, *end("a", 1)])
    assert only(parser) == {"smmu_cmd_tlbi": 1}


def test_events_between_a_markers_characters_stay_outside() -> None:
    marker = begin("a")
    parser = parse_trace([*marker[:10], TLBI, *marker[10:], *end("a", 1)])
    assert only(parser) == {} and parser.outside.counts == {"smmu_cmd_tlbi": 1}


def test_other_registers_are_no_text() -> None:
    noise = [b"pl011_write addr 0x00000038 value 0x00000050\n",
             b"pl011_write addr 0x044 value 0x000007ff reg ICR\n"]
    parser = parse_trace([line for char in begin("a") for line in (char, *noise)]
                         + [TLBI, *end("a", 1)])
    assert only(parser) == {"smmu_cmd_tlbi": 1} and parser.problems == []


# The PC's port

def port(register: int, value: int) -> bytes:
    return b"serial_write write addr 0x%02x val 0x%02x\n" % (register, value)


def pc_chars(text: str) -> list[bytes]:
    return [port(0, ord(char)) for char in text]


def test_markers_on_the_port_of_a_pc() -> None:
    parser = parse_trace([*pc_chars("@pagemix begin a 0\n"), VTD_IOTLB, VTD_WAIT,
                          *pc_chars("@pagemix end a 0 2\n")])
    assert only(parser) == {"vtd_inv_iotlb": 1, "vtd_inv_wait": 1}
    assert parser.phases[0].iterations == 2 and parser.problems == []


def test_a_divisor_is_no_character() -> None:
    marker = pc_chars("@pagemix begin a 0\n")
    # In the middle of the line the driver sets the baud rate: latch on, 115200, off.
    rate = [port(3, 0x93), port(0, 0x41), port(1, 0x00), port(3, 0x13), port(1, 0x05)]
    parser = parse_trace([*marker[:9], *rate, *marker[9:], *pc_chars("@pagemix end a 0 1\n")])
    assert [phase.name for phase in parser.phases] == ["a"] and parser.problems == []


def test_no_markers() -> None:
    parser = parse_trace([TLBI, *chars("boot text\r\n"), SYNC])
    assert parser.phases == [] and parser.problems == []


def test_empty_trace() -> None:
    parser = parse_trace([])
    assert parser.phases == [] and parser.lines == 0


def test_unended_phase_is_reported() -> None:
    parser = parse_trace([*begin("a"), TLBI])
    assert parser.problems == ["a block 0: begun and not ended"]
    assert parser.phases[0].problem


def test_begin_inside_a_phase_ends_it_uncounted() -> None:
    parser = parse_trace([*begin("a"), TLBI, *begin("b"), TLBI, *end("b", 1)])
    assert parser.problems == ["a block 0: begun and not ended"]
    assert [bool(phase.problem) for phase in parser.phases] == [True, False]


@pytest.mark.parametrize(("lines", "problem"), [
    (end("a", 1), "a block 0: ended and not begun"),
    ([*begin("a"), *end("b", 1)], "a block 0: begun, but b block 0 ended"),
    ([*begin("a"), *end("a", 0)], "a block 0: ended after 0 iterations"),
    (chars("@pagemix begin a\n"), "marker not understood: @pagemix begin a"),
    (chars("@pagemix begin a 0 5\n"), "marker not understood: @pagemix begin a 0 5"),
    (chars("@pagemix end a 0\n"), "marker not understood: @pagemix end a 0"),
])
def test_wrong_markers(lines: list[bytes], problem: str) -> None:
    assert problem in parse_trace(lines).problems


def test_same_block_twice_gives_no_counts() -> None:
    once = [*begin("a"), TLBI, *end("a", 1)]
    parser = parse_trace([*once, *once])
    assert len(parser.problems) == 2 and all(phase.problem for phase in parser.phases)


def test_line_cut_off_at_the_end() -> None:
    parser = parse_trace([*begin("a"), TLBI, *end("a", 1), b"smmuv3_cmdq_opcode <--- SMMU_CMD_SY"])
    assert only(parser) == {"smmu_cmd_tlbi": 1}
    assert len(parser.problems) == 1 and "is cut off" in parser.problems[0]


@pytest.mark.parametrize("broken", [
    b"smmuv3_cmdq_opcode <--- \n",
    b"smmuv3_cmdq_opcode <--- SMMU_CMD_TLBI_NH_VAsmmuv3_cmdq_opcode <--- SMMU_CMD_SYNC\n",
    b"smmu_iotlb_lookup_hit IOTLB cache HIT asid=1\n",
    b"smmu_iotlb_insert IOTLB ++ asid=1 addr=0x1000 tg=1\n",
    b"virtio_iommu_map domain=1 virt_start=0xff000000 virt_end=0xff\n",
    b"virtio_iommu_unmap domain=1 virt_start=0xff000000\n",
    b"pl011_write addr 0x00000000\n",
])
def test_broken_line_spoils_its_phase(broken: bytes) -> None:
    parser = parse_trace([*begin("a"), TLBI, broken, *end("a", 1), *begin("b"), *end("b", 1)])
    assert "is not understood" in parser.phases[0].problem
    assert parser.phases[1].problem == ""
    assert set(parser.phases[0].counts) == {"smmu_cmd_tlbi"}


def test_lost_lookups_are_noticed() -> None:
    lines = [lookup("MISS", 0, 1), *begin("a"), lookup("HIT", 1, 1), *end("a", 1), *begin("b"),
             lookup("HIT", 3, 1), *end("b", 1)]
    parser = parse_trace(lines)
    assert [phase.problem != "" for phase in parser.phases] == [False, True]
    assert "lost events" in parser.problems[0]


def test_two_devices_number_their_lookups_apart() -> None:
    parser = parse_trace([*begin("a"), lookup("MISS", 0, 1), lookup("MISS", 0, 1),
                          lookup("HIT", 1, 1), lookup("HIT", 1, 1), lookup("HIT", 2, 1),
                          *end("a", 1)])
    assert only(parser) == {"iotlb_miss": 2, "iotlb_hit": 3} and parser.problems == []


def test_unknown_events_are_ignored() -> None:
    parser = parse_trace([b"something_else 1 2 3\n", b"\n", *begin("a"), TLBI,
                          b"qemu: a message\n", *end("a", 1)])
    assert only(parser) == {"smmu_cmd_tlbi": 1} and parser.problems == []


# Joining with run.json

def run_json(*entries: tuple[str, int], complete: bool = True) -> dict[str, Any]:
    return {"context": {"pagemix": {"complete": complete}},
            "benchmarks": [{"name": name, "run_name": name, "run_type": "iteration",
                            "repetition_index": block, "iterations": 2, "real_time": 1.0}
                           for name, block in entries]}


def test_counters_per_iteration_in_the_right_entry() -> None:
    run = run_json(("a", 0), ("a", 1), ("b", 0))
    parser = parse_trace([*begin("a", 1), TLBI, TLBI, TLBI, SYNC, SYNC, *end("a", 2, block=1)])
    assert merge(run, parser.phases, counters_of(SMMU)) == Joined()
    first, second, third = run["benchmarks"]
    assert "smmu_cmd_tlbi" not in first and "smmu_cmd_tlbi" not in third
    assert (second["smmu_cmd_tlbi"], second["smmu_cmd_sync"]) == (1.5, 1.0)
    assert (second["iotlb_hit"], second["iotlb_miss"]) == (0.0, 0.0)


def test_phase_with_a_problem_leaves_its_entry_alone() -> None:
    run = run_json(("a", 0))
    joined = merge(run, parse_trace([*begin("a"), TLBI]).phases, counters_of(SMMU))
    assert joined == Joined(notes=["a block 0: begun and not ended"])
    assert "smmu_cmd_tlbi" not in run["benchmarks"][0]


@pytest.mark.parametrize(("name", "block", "what"), [
    ("nope", 0, "marker 'nope' block 0: no such benchmark in run.json"),
    ("a", 7, "marker 'a' block 7: no such block in run.json")])
def test_a_foreign_phase_is_told_and_the_others_joined(name: str, block: int, what: str) -> None:
    run = run_json(("a", 0))
    phases = parse_trace([*begin(name, block), TLBI, *end(name, 1, block=block),
                          *begin("a"), TLBI, *end("a", 1)]).phases
    assert merge(run, phases, counters_of(SMMU)) == Joined(foreign=[what])
    assert run["benchmarks"][0]["smmu_cmd_tlbi"] == 1


def test_a_failed_case_keeps_the_others_counts() -> None:
    """alloc ends its phase also where an allocation failed; run.json has no entry then."""
    run = run_json(("a", 0), ("b", 0))
    run["context"]["pagemix"]["skipped"] = [{"what": "b", "why": "allocate for b: ENOMEM"}]
    phases = parse_trace([*begin("a"), TLBI, *end("a", 1), *begin("b"), *end("b", 1),
                          *begin("b", 1), *end("b", 1, block=1)]).phases
    assert merge(run, phases, counters_of(SMMU)) == Joined(
        notes=["b block 1: failed, as run.json says"])
    assert [entry["smmu_cmd_tlbi"] for entry in run["benchmarks"]] == [1, 0]


def test_interrupted_run_may_lack_an_entry() -> None:
    phases = parse_trace([*begin("a", 7), *end("a", 1, block=7)]).phases
    assert merge(run_json(("a", 0), complete=False), phases, []) == Joined(
        notes=["a block 7: not in the incomplete run.json"])


def test_queue_of_vt_d() -> None:
    lines = [VTD_IOTLB, VTD_WAIT,
             b"vtd_inv_desc invalidate desc type context-cache high 0x0 low 0x31\n",
             b"vtd_iotlb_page_hit IOTLB page hit sid 0x10 iova 0xfb000000 slpte 0x40000003 "
             b"domain 0x2\n",
             b"vtd_iotlb_page_update IOTLB page update sid 0x10 iova 0xfb001000 "
             b"slpte 0x40001003 domain 0x2\n"]
    parser = parse_trace([*begin("a"), *lines, *end("a", 1)])
    assert only(parser) == {"vtd_inv_iotlb": 1, "vtd_inv_wait": 1, "iotlb_hit": 1,
                            "iotlb_miss": 1}
    assert parser.problems == []


@pytest.mark.parametrize("broken", [
    b"vtd_inv_desc invalidate desc type iotlb high 0x0\n",
    b"vtd_iotlb_page_hit IOTLB page hit sid 0x10\n",
    b"amdvi_pages_inval\n",
    b"serial_write write addr 0x00\n",
])
def test_broken_lines_of_a_pc_spoil_their_phase(broken: bytes) -> None:
    parser = parse_trace([*begin("a"), broken, *end("a", 1)])
    assert "is not understood" in parser.phases[0].problem


def test_counters_follow_the_traced_events() -> None:
    assert counters_of(SMMU) == ["smmu_cmd_tlbi", "smmu_cmd_sync", "iotlb_hit", "iotlb_miss",
                                 "iotlb_insert_level1", "iotlb_insert_level2",
                                 "iotlb_insert_level3"]
    assert counters_of(("virtio_iommu_map",)) == ["viommu_map"]


def test_insertions_are_counted_by_level() -> None:
    insert = b"smmu_iotlb_insert IOTLB ++ asid=1 addr=0x%x tg=1 level=%d\n"
    phases = parse_trace([*begin("a"), insert % (0x1000, 3), insert % (0x2000, 3),
                          insert % (0x200000, 2), *end("a", 2)]).phases
    run = run_json(("a", 0))
    assert merge(run, phases, counters_of(SMMU)) == Joined()
    entry = run["benchmarks"][0]
    assert (entry["iotlb_insert_level1"], entry["iotlb_insert_level2"],
            entry["iotlb_insert_level3"]) == (0, 0.5, 1)


def test_translations_of_a_virtio_iommu() -> None:
    line = b"virtio_iommu_translate mr=virtio-iommu-pci-2 rid=16 addr=0x1000 flag=2\n"
    broken = b"virtio_iommu_translate mr=virtio-iommu-pci-2 rid=16\n"
    assert only(parse_trace([*begin("a"), line, line, *end("a", 1)])) == {"viommu_translate": 2}
    assert parse_trace([*begin("a"), broken, *end("a", 1)]).phases[0].problem


def test_what_an_iommu_cannot_tell_is_said() -> None:
    assert missing_columns(SMMU) is None
    missing = missing_columns(("virtio_iommu_map", "virtio_iommu_unmap"))
    assert missing is not None
    assert "iotlb_miss" in missing["what"] and "no IOTLB" in missing["why"]
    for events in (("vtd_inv_desc",), ("amdvi_pages_inval",)):
        missing = missing_columns(events)
        assert missing is not None and missing["what"] == "iotlb_insert_level<k>"


def test_events_json() -> None:
    parser = parse_trace(real("smmuv3-qemu-7.2.trace"))
    data = parser.as_json()
    assert data["phases"][1] == {"name": ORDER8, "block": 0, "iterations": 5,
                                 "counts": {"smmu_cmd_tlbi": 30, "smmu_cmd_sync": 30}}
    assert data["problems"] == [] and data["trace_lines"] == 554
    assert Counter(data["outside"])["iotlb_miss"] == 1
