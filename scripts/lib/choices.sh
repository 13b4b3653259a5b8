# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Arguments that name a machine or a profile, and what their guests need. Sourced
# after packages.sh by scripts, which define usage().

# refuse MESSAGE: a wrong command line
refuse() {
  echo "${0##*/}: $1" >&2
  usage >&2
  exit 2
}

# need_value OPTION COUNT-OF-REMAINING-ARGUMENTS
need_value() {
  if [ "$2" -lt 2 ]; then refuse "$1 needs a value"; fi
}

# names_of FOLDER: names of its .ini files, for messages
names_of() {
  local file
  for file in "$1"/*.ini; do basename "$file" .ini; done | tr '\n' ' '
}

# check_choices PROFILE MACHINE...
check_choices() {
  local profile=$1 machine
  shift
  for machine in "$@"; do
    if [ ! -f "configs/machines/$machine.ini" ]; then
      refuse "no machine '$machine'; there are: $(names_of configs/machines)"
    fi
  done
  if [ ! -f "configs/profiles/$profile.ini" ]; then
    refuse "no profile '$profile'; there are: $(names_of configs/profiles)"
  fi
}

step() { printf '== %s (%d s)\n' "$1" "$SECONDS"; }

# arch_of MACHINE: the architecture of its guest
arch_of() { sed -n 's/^arch *= *//p' "configs/machines/$1.ini"; }

# prepare_guests MACHINE...: packages, kernels and programs
prepare_guests() {
  local machine arch archs for_guests
  mapfile -t archs < <(for machine in "$@"; do arch_of "$machine"; done | sort -u)
  step "packages"
  mapfile -t for_guests < <(packages_for_guests "${archs[@]}")
  # shellcheck disable=SC2154 # of packages.sh
  install_packages "${host_packages[@]}" "${for_guests[@]}"
  for arch in "${archs[@]}"; do
    step "kernel for $arch"
    guest/pagemix-guest kernel fetch --arch "$arch"
    step "build for $arch"
    guest/pagemix-guest build --arch "$arch"
  done
}
