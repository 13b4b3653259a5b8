# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Debian packages by purpose. Sourced by the scripts; Debian 12 and 13.

# Programs that run on this machine: report, guest tools, native build.
host_packages=(
  ca-certificates git make cmake ninja-build ccache g++ pkg-config
  libbenchmark-dev libboost-program-options-dev libzip-dev zlib1g-dev nlohmann-json3-dev
  libtracefs-dev libtraceevent-dev libdrm-dev
  libnvme-dev # only headers: the cross build uses them too
  python3 python3-numpy python3-scipy python3-matplotlib python3-jinja2
)

# Guests of every architecture: kernel unpacking, module build.
# mmdebstrap: the root that builds modules for kernels of a later Debian.
guest_packages=(kmod xz-utils zstd bc bison flex libelf-dev libssl-dev mmdebstrap)

# For guests of one architecture: its emulator and, where this machine is of
# another, the cross compiler and the program's libraries.
arm64_emulator=qemu-system-arm
arm64_compiler=(gcc-aarch64-linux-gnu g++-aarch64-linux-gnu)
amd64_emulator=qemu-system-x86
amd64_compiler=(gcc-x86-64-linux-gnu g++-x86-64-linux-gnu)
cross_libraries=(
  libbenchmark-dev libboost-program-options-dev libzip-dev zlib1g-dev libtracefs-dev
  libtraceevent-dev libdrm-dev libgtest-dev
)

# packages_for_guests ARCH...: names, one a line
packages_for_guests() {
  local arch name
  printf '%s\n' "${guest_packages[@]}"
  for arch in "$@"; do
    local -n emulator=${arch}_emulator compiler=${arch}_compiler
    echo "$emulator"
    if [ "$arch" != "$(dpkg --print-architecture)" ]; then
      printf '%s\n' "${compiler[@]}"
      for name in "${cross_libraries[@]}"; do echo "$name:$arch"; done
    else
      echo libgtest-dev # the build for guests has their tests
    fi
  done
}

# Only for scripts/test.
test_packages=(
  libgtest-dev libbenchmark-tools python3-pytest python3-hypothesis python3-pil
  clang-format shellcheck flake8 mypy sparse chromium man-db bash-completion
)

# Only for Debian packages: scripts/package.
debian_packages=(dpkg-dev debhelper dh-dkms dh-python lintian fakeroot)

# Only for their test in a clean root: tests/package.
root_packages=(mmdebstrap)

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "cannot run '$*': neither root nor sudo" >&2
    return 1
  fi
}

# A name without architecture means this machine's; a foreign package of that
# name does not count.
package_missing() {
  local name=${1%%:*} arch
  arch=$(dpkg --print-architecture)
  if [[ $1 == *:* ]]; then arch=${1#*:}; fi
  ! dpkg-query -W -f '${Architecture} ${db:Status-Status}\n' "$name:*" 2>/dev/null |
    grep -qxE "($arch|all) installed"
}

# install_packages NAME...: what is missing, and only that. Never removes a
# package: a foreign one could replace a tool of this machine.
install_packages() {
  local missing=() name
  if ! command -v apt-get >/dev/null; then
    echo "this script installs packages with apt-get; on other systems install them by hand:" >&2
    echo "  $*" >&2
    return 1
  fi
  for name in "$@"; do
    if package_missing "$name"; then missing+=("$name"); fi
  done
  if [ ${#missing[@]} -eq 0 ]; then return 0; fi
  echo "installing ${missing[*]}"
  for name in "${missing[@]}"; do
    if [[ $name == *:* ]]; then as_root dpkg --add-architecture "${name#*:}"; fi
  done
  # One broken third-party source must not stop the others.
  as_root apt-get update -qq || echo "apt-get update had errors; going on with what it got" >&2
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-remove --no-install-recommends "${missing[@]}" >/dev/null
}
