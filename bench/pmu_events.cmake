# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT, a header with the events of PMUs that INPUT, configs/counters.ini, names.
set(rows "")
set(counter "")
file(STRINGS ${INPUT} lines REGEX "^(\\[|pmu *=)")
foreach(line IN LISTS lines)
  if(line MATCHES "^\\[([a-z0-9_]+)\\]$")
    set(counter ${CMAKE_MATCH_1})
  elseif(line MATCHES "^pmu *= *(.*)$")
    string(REPLACE "," ";" events "${CMAKE_MATCH_1}")
    foreach(event IN LISTS events)
      string(STRIP "${event}" event)
      if(NOT event MATCHES "^([A-Za-z0-9_]+)/([A-Za-z0-9_]+)$")
        message(FATAL_ERROR "${INPUT}: [${counter}]: pmu: unreadable \"${event}\"; "
                            "allowed: UNITS/EVENT, more of them by commas")
      endif()
      string(APPEND rows "    {\"${CMAKE_MATCH_1}\", \"${CMAKE_MATCH_2}\", \"${counter}\"},\n")
    endforeach()
  endif()
endforeach()
if(rows STREQUAL "")
  message(FATAL_ERROR "${INPUT}: no counter has a line pmu")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "// Made from configs/counters.ini.
#pragma once

namespace pagemix::bench {

struct PmuSource {
  const char* units;    // prefix of their names
  const char* event;    // as the kernel names it
  const char* counter;  // as run.json names it
};

inline constexpr PmuSource kPmuSources[] = {
${rows}};

}  // namespace pagemix::bench
" @ONLY)
