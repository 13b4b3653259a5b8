# SPDX-License-Identifier: Apache-2.0
"""Which kernel an archive's listing gives, and that a failed fetch leaves nothing."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pagemix_guest import kernel
from pagemix_guest.apt import Package, parse_packages
from pagemix_guest.cache import atomic_folder
from pagemix_guest.errors import GuestError, UsageError

DATA = Path(__file__).parent / "data"

pytestmark = pytest.mark.skipif(shutil.which("dpkg") is None, reason="dpkg is not installed")


@pytest.mark.parametrize(("release", "asked", "expected"), [
    ("6.12.117+deb12-arm64", "6.12", True),
    ("6.12.117+deb12-arm64", "6.12.117", True),
    ("6.12.117+deb12-arm64", "6.12.11", False),
    ("6.12.48+deb13-arm64", "6.12", True),
    ("6.1.0-57-arm64", "6.1", True),
    ("6.12.117+deb12-arm64", "6.1", False),
    ("6.12.117+deb12-rt-arm64", "6.12", False),
    ("6.12.117+deb12-cloud-arm64", "6.12", False),
    ("6.12.48+deb13-arm64-16k", "6.12", False),
    ("6.12.117+deb12-amd64", "6.12", False),
    ("6.12.117+deb12-cloud-amd64", "6.12", False),
    ("6.12.117+deb12-common", "6.12", False),
    ("7.3.4+deb13-arm64-16k", "7.3-16k", True),
    ("7.3.4+deb13-arm64-16k", "7.3.4-16k", True),
    ("7.3.4+deb13-arm64", "7.3-16k", False),
    ("7.3.4+deb13-rt-arm64-16k", "7.3-16k", False),
    ("7.3.4-pagemix-base", "7.3", False),
])
def test_release_fits(release: str, asked: str, expected: bool) -> None:
    assert kernel.matches(release, asked, "arm64") is expected


@pytest.mark.parametrize(("release", "expected"), [
    ("6.12.117+deb12-amd64", True), ("6.12.117+deb12-rt-amd64", False),
    ("6.12.117+deb12-cloud-amd64", False), ("6.12.117+deb12-arm64", False)])
def test_release_fits_amd64(release: str, expected: bool) -> None:
    assert kernel.matches(release, "6.12", "amd64") is expected


def listing() -> list[Package]:
    return parse_packages((DATA / "apt-show.txt").read_text(encoding="utf-8"))


def lookup_in(packages: list[Package]) -> Callable[[str], list[Package]]:
    def lookup(spec: str) -> list[Package]:
        name, _, arch = spec.partition(":")
        return [package for package in packages
                if package.name == name and package.arch == (arch or "all")]
    return lookup


def choose(packages: list[Package], version: str, *, headers_only: bool = False) -> kernel.Choice:
    return kernel.choose([package for package in packages
                          if package.name.startswith("linux-headers-")],
                         lookup_in(packages), kernel=version, arch="arm64", host_arch="amd64",
                         headers_only=headers_only)


def test_newest_by_debian_order_not_by_text() -> None:
    choice = choose(listing(), "6.12")
    assert choice.release == "6.12.117+deb12-arm64"  # 6.12.95 sorts behind it as text
    assert [package.spec for package in choice.packages] == [
        "linux-headers-6.12.117+deb12-arm64:arm64=6.12.117-1~deb12u1",
        "linux-headers-6.12.117+deb12-common=6.12.117-1~deb12u1",
        "linux-kbuild-6.12.117+deb12:amd64=6.12.117-1~deb12u1",
        "linux-image-6.12.117+deb12-arm64-unsigned:arm64=6.12.117-1~deb12u1",
        "busybox-static:arm64=1:1.35.0-4+deb12u1+b1"]


@pytest.mark.parametrize("missing", ["linux-kbuild-6.12.117+deb12",
                                     "linux-headers-6.12.117+deb12-common",
                                     "linux-image-6.12.117+deb12-arm64-unsigned"])
def test_incomplete_newest_gives_the_next(missing: str) -> None:
    packages = [package for package in listing() if package.name != missing]
    assert choose(packages, "6.12").release == "6.12.95+deb12-arm64"


def test_kbuild_of_the_host_counts() -> None:
    packages = [Package(package.name, package.version, "arm64", package.depends)
                if package.name == "linux-kbuild-6.12.117+deb12" else package
                for package in listing()]
    assert choose(packages, "6.12").release == "6.12.95+deb12-arm64"


def test_headers_only_needs_no_image() -> None:
    choice = choose(listing(), "6.1", headers_only=True)
    assert choice.release == "6.1.0-57-arm64"
    assert [package.name for package in choice.packages] == [
        "linux-headers-6.1.0-57-arm64", "linux-headers-6.1.0-57-common", "linux-kbuild-6.1"]


def test_three_packages_of_an_image() -> None:
    # Debian 13's later kernels: the image, what is built in, and the modules.
    release, version = "7.3.4+deb13-arm64-16k", "7.3.4-1~bpo13+1"
    needs = "gcc-14-for-host, linux-headers-7.3.4+deb13-common (= x), linux-kbuild-7.3.4+deb13"
    packages = [Package(f"linux-headers-{release}", version, "arm64", needs),
                Package("linux-headers-7.3.4+deb13-common", version, "all"),
                Package("linux-kbuild-7.3.4+deb13", version, "amd64"),
                Package(f"linux-binary-{release}", version, "arm64"),
                Package(f"linux-base-{release}", version, "arm64"),
                Package(f"linux-modules-{release}", version, "arm64"),
                Package("busybox-static", "1", "arm64")]
    choice = choose(packages, "7.3-16k")
    assert choice.release == release
    assert [package.name for package in choice.packages][3:] == [
        f"linux-binary-{release}", f"linux-base-{release}", f"linux-modules-{release}",
        "busybox-static"]
    for part in ("linux-base-", "linux-modules-"):
        without = [package for package in packages if not package.name.startswith(part)]
        with pytest.raises(UsageError, match="'7.3-16k'"):
            choose(without, "7.3-16k")


def test_unknown_version_says_what_there_is() -> None:
    with pytest.raises(UsageError) as caught:
        choose(listing(), "5.10")
    assert "'5.10'" in str(caught.value)
    assert "6.12.117+deb12-arm64" in str(caught.value)
    assert caught.value.code == 2


@pytest.mark.parametrize(("arch", "version", "part"), [("mips", "6.12", "allowed are amd64, arm64"),
                                                       ("arm64", "newest", "'newest'"),
                                                       ("arm64", "6", "'6'")])
def test_bad_arguments(arch: str, version: str, part: str) -> None:
    with pytest.raises(UsageError, match=part):
        kernel.fetch(arch, version)


def put_cached(cache: Path, release: str, version: str, *, headers_only: bool = False) -> None:
    folder = cache / "kernels" / release
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text(json.dumps(
        {"release": release, "arch": "arm64", "version": version, "headers_only": headers_only}),
        encoding="utf-8")


def test_cached_kernel_needs_no_network(own_cache: Path, on_path) -> None:
    for tool in ("apt-get", "apt-cache"):
        on_path(tool, "echo no network >&2; exit 100")
    put_cached(own_cache, "6.12.95+deb12-arm64", "6.12.95-1~deb12u1")
    put_cached(own_cache, "6.12.117+deb12-arm64", "6.12.117-1~deb12u1")
    put_cached(own_cache, "6.1.0-57-arm64", "6.1.192-3", headers_only=True)
    assert kernel.fetch().release == "6.12.117+deb12-arm64"
    assert kernel.fetch(kernel="6.12.95").release == "6.12.95+deb12-arm64"
    assert kernel.fetch(kernel="6.1", headers_only=True).release == "6.1.0-57-arm64"
    with pytest.raises(GuestError):  # headers are no kernel
        kernel.fetch(kernel="6.1")


def left_in(cache: Path) -> list[str]:
    return sorted(path.name for path in (cache / "kernels").iterdir())


def test_failing_update_leaves_nothing(own_cache: Path, on_path) -> None:
    on_path("apt-get", "echo 'E: no route to host' >&2; exit 100")
    with pytest.raises(GuestError, match="no route to host"):
        kernel.fetch()
    assert left_in(own_cache) == []


APT_CACHE = """\
for last; do :; done
case "$*" in
*pkgnames*) sed -n 's/^Package: //p' {data} | grep "^$last" || : ;;
*) for spec; do
    awk -v n="${{spec%%:*}}" 'BEGIN {{ RS = ""; ORS = "\\n\\n" }} $2 == n' {data}
  done ;;
esac
"""


def test_failing_download_leaves_nothing_and_keeps_the_old(own_cache: Path, on_path) -> None:
    put_cached(own_cache, "6.12.95+deb12-arm64", "6.12.95-1~deb12u1")
    on_path("apt-cache", APT_CACHE.format(data=DATA / "apt-show.txt"))
    on_path("apt-get", """case " $* " in *" download "*) touch half.deb; echo broken pipe >&2;
            exit 100;; esac""")
    with pytest.raises(GuestError, match="broken pipe"):
        kernel.fetch(refresh=True)
    assert left_in(own_cache) == ["6.12.95+deb12-arm64"]


def test_a_later_debian_is_asked_when_the_hosts_lacks_it(own_cache: Path, on_path) -> None:
    # Debian's lists are the same here whatever is read; 9.9 is in none of them.
    on_path("apt-cache", APT_CACHE.format(data=DATA / "apt-show.txt"))
    on_path("apt-get", f"""cat {own_cache}/kernels/.apt-*/sources.d/debian.sources \
            >>{own_cache}/seen""")
    with pytest.raises(UsageError, match="'9.9'"):
        kernel.fetch(kernel="9.9")
    assert (own_cache / "seen").read_text(encoding="utf-8").count("trixie-backports") == 1


def test_bad_package_leaves_nothing(own_cache: Path, on_path) -> None:
    on_path("apt-cache", APT_CACHE.format(data=DATA / "apt-show.txt"))
    on_path("apt-get", """case " $* " in *" download "*) for n in 1 2 3 4 5; do echo x >$n.deb; done;;
            esac""")
    with pytest.raises(GuestError, match="unpacking 1.deb"):
        kernel.fetch()
    assert left_in(own_cache) == []


def test_refresh_keeps_a_kernel_that_is_still_the_newest(own_cache: Path, on_path) -> None:
    put_cached(own_cache, "6.12.117+deb12-arm64", "6.12.117-1~deb12u1")
    on_path("apt-cache", APT_CACHE.format(data=DATA / "apt-show.txt"))
    on_path("apt-get", 'case "$*" in *download*) exit 100;; esac')
    assert kernel.fetch(refresh=True).release == "6.12.117+deb12-arm64"


def test_headers_find_their_common_part(tmp_path: Path) -> None:
    makefile = tmp_path / "Makefile"
    makefile.write_text("include /usr/src/linux-headers-6.12-common/Makefile\n", encoding="utf-8")
    kernel.fix_headers(tmp_path)
    assert "/usr/src" not in makefile.read_text(encoding="utf-8")
    assert makefile.read_text(encoding="utf-8").endswith("linux-headers-6.12-common/Makefile\n")
    with pytest.raises(GuestError, match="no 'include /usr/src"):
        kernel.fix_headers(tmp_path)


def test_headers_of_later_kernels_find_themselves_too(tmp_path: Path) -> None:
    headers = tmp_path / "linux-headers-7.3-arm64"
    headers.mkdir()
    (tmp_path / "linux-headers-7.3-common").mkdir()
    (tmp_path / "linux-headers-7.3-common/Makefile").write_text(
        "all:\n\t@echo $(KBUILD_OUTPUT)\n", encoding="utf-8")
    (headers / "Makefile").write_text(
        "KBUILD_OUTPUT=/usr/src/linux-headers-7.3-arm64\n"
        "include /usr/src/linux-headers-7.3-common/Makefile\n", encoding="utf-8")
    kernel.fix_headers(headers)
    shown = subprocess.run(["make", "-s", "-C", headers], capture_output=True, text=True, check=True)
    assert shown.stdout == f"{headers}/\n"


def test_atomic_folder(tmp_path: Path) -> None:
    final = tmp_path / "thing"
    with atomic_folder(final) as work:
        (work / "a").write_text("1", encoding="utf-8")
        assert not final.exists()
    with pytest.raises(RuntimeError), atomic_folder(final) as work:
        (work / "a").write_text("2", encoding="utf-8")
        raise RuntimeError
    assert (final / "a").read_text(encoding="utf-8") == "1"
    with atomic_folder(final) as work:
        (work / "a").write_text("3", encoding="utf-8")
    assert (final / "a").read_text(encoding="utf-8") == "3"
    assert [path.name for path in tmp_path.iterdir()] == ["thing"]
