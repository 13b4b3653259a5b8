# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT with the version and the git revision of SOURCE; leaves the file
# alone when nothing changed, so that nothing is built anew.
# REVISION, if not empty, stands in for git's.
set(revision "${REVISION}")
if(NOT revision)
  execute_process(
    COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
    OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(failed)
    set(revision unknown)
  endif()
endif()
set(text "// Generated. SPDX-License-Identifier: Apache-2.0
#pragma once
namespace pagemix::bench {
inline constexpr const char* kVersion = \"${VERSION}\";
inline constexpr const char* kSourceRevision = \"${revision}\";
}  // namespace pagemix::bench
")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT "${text}" STREQUAL "${old}")
  file(WRITE ${OUTPUT} "${text}")
endif()
