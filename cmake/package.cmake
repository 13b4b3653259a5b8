# SPDX-License-Identifier: Apache-2.0
# `cpack` makes a .deb of the program alone. debian/ describes all packages
# (dpkg-buildpackage -b); what both say is read from there.
file(READ ${PROJECT_SOURCE_DIR}/debian/control control)
string(REGEX MATCH "Maintainer: ([^\n]+)" found "${control}")
set(CPACK_PACKAGE_CONTACT "${CMAKE_MATCH_1}")
string(REGEX MATCH "Package: pagemix\n.*\nDescription: ([^\n]+)\n(( [^\n]+\n)+)" found "${control}")
# Up to the next package the match is the first one's.
string(REGEX REPLACE "\n\nPackage: .*" "\n" found "${found}")
string(REGEX MATCH "Description: ([^\n]+)\n(( [^\n]+\n)+)" found "${found}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${CMAKE_MATCH_1}")
string(REGEX REPLACE "(^|\n) " "\\1" CPACK_PACKAGE_DESCRIPTION "${CMAKE_MATCH_2}")

# What is packaged is what was built: cpack builds nothing.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program licenses)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "pagemix-dkms")
include(CPack)
