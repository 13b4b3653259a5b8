# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Debian packages by purpose. Sourced by the scripts; Debian 12 and 13.

# Programs that run on this machine: report, guest tools, native build.
host_packages=(
  ca-certificates git make cmake ninja-build ccache g++ pkg-config
  libbenchmark-dev libboost-program-options-dev libzip-dev zlib1g-dev nlohmann-json3-dev libdrm-dev
  libnvme-dev # only headers: the cross build uses them too
  python3 python3-numpy python3-scipy python3-matplotlib python3-jinja2
)

# An arm64 guest: emulator, kernel unpacking, cross compiler and its libraries.
guest_packages=(
  qemu-system-arm kmod xz-utils zstd bc bison flex libelf-dev libssl-dev
)
cross_packages=(
  gcc-aarch64-linux-gnu g++-aarch64-linux-gnu
  libbenchmark-dev:arm64 libboost-program-options-dev:arm64 libzip-dev:arm64 zlib1g-dev:arm64
  libdrm-dev:arm64
  libgtest-dev:arm64
)

# Only for scripts/test.
test_packages=(
  libgtest-dev libbenchmark-tools python3-pytest python3-hypothesis clang-format shellcheck sparse chromium
)

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
  if [[ " ${missing[*]} " == *:arm64\ * ]]; then as_root dpkg --add-architecture arm64; fi
  # One broken third-party source must not stop the others.
  as_root apt-get update -qq || echo "apt-get update had errors; going on with what it got" >&2
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-remove --no-install-recommends "${missing[@]}" >/dev/null
}
