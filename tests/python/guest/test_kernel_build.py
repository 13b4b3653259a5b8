# SPDX-License-Identifier: Apache-2.0
"""Kernels of our own: source chosen, cache used, an interrupted or failed build."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pagemix_guest import fragments, kernel, kernel_build
from pagemix_guest.apt import Package
from pagemix_guest.errors import GuestError, UsageError


def source(name: str, version: str) -> Package:
    return Package(f"linux-source-{name}", version, "all")


OFFERED = [source("6.1", "6.1.192-3"), source("6.12", "6.12.95-1~deb12u1"),
           source("6.12", "6.12.117-1~deb12u1"), source("7.3", "7.3.4-1~bpo13+1")]


@pytest.mark.parametrize(("offered", "wanted", "version"), [
    (OFFERED, "", "7.3.4-1~bpo13+1"), (OFFERED, "6.12", "6.12.117-1~deb12u1"),
    (OFFERED[:3], "", "6.12.117-1~deb12u1"), (OFFERED[:1], "", "6.1.192-3")])
def test_which_source(offered: list[Package], wanted: str, version: str) -> None:
    assert kernel_build.choose_source(offered, wanted).version == version


def test_source_that_is_not_there_says_which_are() -> None:
    with pytest.raises(UsageError, match=r"'5\.10'.*6\.1, 6\.12, 7\.3"):
        kernel_build.choose_source(OFFERED, "5.10")


@pytest.mark.parametrize("bad", ["7", "7.3.4", "new", "7.3-x"])
def test_bad_source_version(bad: str) -> None:
    with pytest.raises(UsageError, match=f"'{bad}'"):
        kernel_build.build("base", bad)


def put_own(cache: Path, name: str, version: str, digest: str) -> Path:
    folder = cache / "kernels" / f"{version}-pagemix-{name}-{digest}"
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text(json.dumps(
        {"release": f"{version}-pagemix-{name}", "arch": "arm64", "version": version,
         "headers_only": False, "configuration": name, "digest": digest}), encoding="utf-8")
    return folder


def test_cached_by_fragments_and_source(own_cache: Path, on_path) -> None:
    for tool in ("apt-get", "apt-cache", "make"):
        on_path(tool, "exit 100")
    digest = fragments.load("base").digest
    put_own(own_cache, "base", "7.3.4", "000000000000")  # of other fragments
    with pytest.raises(UsageError, match="guest/kernel build base"):
        kernel.fetch(kernel="base")
    old = put_own(own_cache, "base", "6.12.117", digest)
    new = put_own(own_cache, "base", "7.3.4", digest)
    assert kernel.fetch(kernel="base").folder == new
    assert kernel_build.build("base").folder == new
    assert kernel.find("arm64", "base").folder == new
    assert kernel_build.build("base", "6.12").folder == old
    with pytest.raises(GuestError):  # 6.1 is no prefix of 6.12: would be built, and apt-get fails
        kernel_build.build("base", "6.1")
    with pytest.raises(UsageError, match="arm64 only"):
        kernel.fetch("amd64", "base")


def test_our_own_are_not_taken_for_debians(own_cache: Path) -> None:
    put_own(own_cache, "base", "7.3.4", fragments.load("base").digest)
    assert kernel.cached("arm64", "7.3", headers_only=True) is None
    with pytest.raises(UsageError, match="fetch --arch arm64 --kernel 7.3"):
        kernel.find("arm64", "7.3")


def put_source(cache: Path, makefile: str) -> None:
    """A source tree whose Makefile stands in for the kernel's."""
    tree = cache / "kernel-source" / "7.3.4-1" / "linux"
    tree.mkdir(parents=True)
    (tree.parent / "busybox").write_bytes(b"busybox")
    (tree / "Makefile").write_text(makefile, encoding="ascii")


TARGETS = """\
tinyconfig olddefconfig:
\t@touch $(O)/.config
"""


def test_a_fragment_line_without_effect_ends_the_build(own_cache: Path) -> None:
    put_source(own_cache, TARGETS + "\t@sed -i s/CONFIG_IOMMUFD=m/CONFIG_IOMMUFD=n/ $(O)/.config\n")
    with pytest.raises(GuestError, match="CONFIG_IOMMUFD=m, but .* as n"):
        kernel_build.build("base")
    assert not (own_cache / "kernels").exists()


def test_a_failed_compilation_shows_its_end_and_the_log(own_cache: Path) -> None:
    put_source(own_cache, TARGETS + "modules:;\nImage:\n\t@echo '  CC      x.o'; echo why; exit 1\n")
    with pytest.raises(GuestError, match=r"make ended with 2\n(?s:.*)why(?s:.*)whole log: (.*)"):
        kernel_build.build("base")
    assert not (own_cache / "kernels").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_build_stops_make_and_goes_on(own_cache: Path,
                                                     number: signal.Signals) -> None:
    put_source(own_cache, TARGETS + "modules:;\nImage:\n"
               "\t@echo '  CC      a.o'; touch $(O)/begun; sleep 60; touch $(O)/ended\n")
    with subprocess.Popen([sys.executable, "-c", "import sys\n"
                           f"sys.path.insert(0, {str(Path(kernel.__file__).parents[1])!r})\n"
                           "from pagemix_guest.cli import main\n"
                           "sys.exit(main(['kernel', 'build', 'base']))"],
                          stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 30
        while not list(own_cache.glob("kernel-build/*/begun")):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted after 1 steps" in said
    work = next(own_cache.glob("kernel-build/*"))
    assert not (work / "ended").exists()
    # The next one does not configure anew, and counts on.
    before = (work / ".config").stat().st_mtime_ns
    makefile = own_cache / "kernel-source/7.3.4-1/linux/Makefile"
    makefile.write_text(TARGETS + "modules:;\nImage:\n\t@exit 1\n", encoding="ascii")
    said_lines: list[str] = []
    with pytest.raises(GuestError, match="make ended"):
        kernel_build.build("base", say=said_lines.append)
    assert "building kernel base, going on after 1 steps" in said_lines
    assert (work / ".config").stat().st_mtime_ns == before


def test_progress() -> None:
    assert kernel_build.progress(600, 100, 1100, 60) == (
        "600 of about 1100 steps, 1.0 min, about 1.0 min left")
    assert kernel_build.progress(100, 100, 1100, 30) == "100 of about 1100 steps, 0.5 min"
