# SPDX-License-Identifier: Apache-2.0
"""A root folder of a later Debian, for kernels whose build tools this host cannot run.

Debian's kernels bring their kbuild tools as programs of their own release, which
want its C library, and are compiled with its gcc.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from .apt import Apt, host_source_files, newest_first
from .arch import ARCHITECTURES, host_architecture
from .cache import atomic_folder, cache_root, locked
from .errors import GuestError, checked
from .sources import NEWER_CODENAME, archive_source, debian_sources, host_codename

GCC = "gcc-14"
COMMON = ("make", "libelf1t64", "pahole", "kmod")
# Headers since 6.15 use __typeof_unqual__, which trixie's sparse 0.6.4 does not
# know. The later one needs nothing but the C library of trixie.
SPARSE_SUITE = "testing"
SPARSE = "usr/local/bin/sparse"

# What mmdebstrap mounts ends with it, also when it is killed.
OWN_MOUNTS = ("unshare", "--mount", "--propagation", "private") if os.geteuid() == 0 else ()

# The caller's folders are bound in; a mount namespace of its own takes the mounts
# along when it ends. $1 root, $2 folder inside, then pairs of host and root path,
# '--', the command.
ENTER = """\
set -e
root=$1 inside=$2
shift 2
mount --rbind /dev "$root/dev"
mount --rbind /proc "$root/proc"
while [ "$1" != -- ]; do
	mkdir -p "$root$2"
	mount --bind "$1" "$root$2"
	shift 2
done
shift
exec chroot "$root" sh -c 'cd "$1" && shift && exec "$@"' sh "$inside" "$@"
"""


def packages(host_arch: str) -> list[str]:
    """What a root has to hold to build modules for every architecture of guests."""
    compilers = [GCC if arch == host_arch
                 else f"{GCC}-{ARCHITECTURES[arch].triplet.replace('_', '-')}"
                 for arch in sorted(ARCHITECTURES)]
    return [*compilers, *COMMON]


def compiler(arch: str) -> str:
    """The command that compiles for `arch` inside a root."""
    return f"{ARCHITECTURES[arch].triplet}-{GCC}"


def tool_root(say: Callable[[str], None] = lambda _: None) -> Path:
    """The root of NEWER_CODENAME, from the cache or made with mmdebstrap."""
    wanted = packages(host_architecture())
    digest = hashlib.sha256(" ".join((*wanted, SPARSE_SUITE)).encode()).hexdigest()[:8]
    final = cache_root() / "roots" / f"{NEWER_CODENAME}-{digest}"
    with locked("roots"):
        if final.is_dir():
            return final
        if shutil.which("mmdebstrap") is None:
            raise GuestError(f"kernels of Debian {NEWER_CODENAME} are built in a root of it: "
                             "mmdebstrap is not installed")
        mirror = archive_source(debian_sources(host_source_files(), host_codename()))
        say(f"making a root of Debian {NEWER_CODENAME} (about 300 MB)")
        with atomic_folder(final) as work, tempfile.TemporaryDirectory(dir=final.parent,
                                                                       prefix=".tar-") as scratch:
            archive = Path(scratch) / "root.tar"
            line = f"deb {mirror.uris[0]} {NEWER_CODENAME} main"
            checked([*OWN_MOUNTS, "mmdebstrap", "--quiet", "--variant=minbase",
                     f"--include={','.join(wanted)}", *keyring(mirror.signed_by), NEWER_CODENAME,
                     str(archive), line],
                    what=f"root of {NEWER_CODENAME}")
            # Unpacked as whoever runs this; device nodes come from the host.
            checked(["tar", "-xf", str(archive), "-C", str(work), "--no-same-owner",
                     "--exclude=./dev/*"], what=f"unpacking the root of {NEWER_CODENAME}")
            _add_sparse(Path(scratch), work)
    return final


def _add_sparse(scratch: Path, root: Path) -> None:
    apt = Apt(scratch / "apt", host_architecture())
    apt.update((SPARSE_SUITE,))
    found = apt.show([f"sparse:{apt.host_arch}"])
    version = newest_first(package.version for package in found)[0]
    package = next(package for package in found if package.version == version)
    (file,) = apt.download([package], scratch / "debs")
    checked(["dpkg-deb", "-x", str(file), str(scratch / "sparse")], what="unpacking sparse")
    shutil.copy(scratch / "sparse/usr/bin/sparse", root / SPARSE)


def keyring(signed_by: str) -> list[str]:
    """mmdebstrap's option for a source's Signed-By, where that is a file."""
    path = signed_by.strip()
    return [f"--keyring={path}"] if path.startswith("/") else []


def inside(root: Path, folder: str, binds: Mapping[Path, str],
           command: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """The command line that runs `command` in `folder` of a root, with host folders at `binds`."""
    pairs = [word for host, path in binds.items() for word in (str(host), path)]
    users = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    set_env = ["env", "-i", "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8",
               *(f"{key}={value}" for key, value in environment.items())]
    return ["unshare", *users, "--mount", "--propagation", "private", "sh", "-c", ENTER, "enter",
            str(root), folder, *pairs, "--", *set_env, *command]
