# One static library for each folder of src/LAYERS: hf_NAME, with '_' for '/'. What a folder may include is what its library
# links, so a folder that includes more does not link.
#
# A folder may have a sources.cmake for what is special about it: it is included with `sources` (what was found), and
# `libraries` (what it links) set, and may change both.

find_package(Threads REQUIRED)
find_library(HF_SQLITE libsqlite3.a REQUIRED)
find_library(HF_STEMMER libstemmer.a REQUIRED)
set(hf_outside_json "")     # Boost.JSON is compiled in src/json
set(hf_outside_sql "")      # no library: who may write SQL
set(hf_outside_sqlite ${HF_SQLITE} Threads::Threads m dl)
set(hf_outside_stemmer ${HF_STEMMER})

set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/LAYERS)
file(STRINGS ${CMAKE_SOURCE_DIR}/src/LAYERS hf_rows)

function(hf_layer folder allowed)
  set(here ${CMAKE_SOURCE_DIR}/src/${folder})
  string(REPLACE "/" "_" name hf_${folder})
  set(libraries)
  separate_arguments(allowed)
  set_property(GLOBAL PROPERTY hf_allowed_${folder} "${allowed}")
  foreach(one ${allowed})
    if(one MATCHES "^@(.*)$")
      list(APPEND libraries ${hf_outside_${CMAKE_MATCH_1}})
    elseif(NOT one STREQUAL "-")
      string(REPLACE "/" "_" one ${one})
      list(APPEND libraries hf_${one})
    endif()
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${here}/*.cpp)
  include(${here}/sources.cmake OPTIONAL)
  if(sources)
    hf_library(${name} ${sources} LINK ${libraries})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE hf_flags ${libraries})
  endif()
endfunction()

# hf_closure(RESULT FOLDER...): these folders and all that they may include, directly or through others.
function(hf_closure result)
  set(found)
  set(pending ${ARGN})
  while(pending)
    list(POP_FRONT pending folder)
    if(NOT folder IN_LIST found AND NOT folder MATCHES "^(@|-)")
      list(APPEND found ${folder})
      get_property(allowed GLOBAL PROPERTY hf_allowed_${folder})
      list(APPEND pending ${allowed})
    endif()
  endwhile()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

foreach(row IN LISTS hf_rows)
  if(row MATCHES "^(capi|programs/)")
    # src/capi/CMakeLists.txt, and below
  elseif(row MATCHES "^([a-z][a-z_/]*) *\\| *([^|]*[^| ]) *\\|")
    hf_layer("${CMAKE_MATCH_1}" "${CMAKE_MATCH_2}")
  elseif(row MATCHES "^program ([a-z-]+) *\\| *(programs/[a-z_]+)")
    list(APPEND hf_programs "${CMAKE_MATCH_1}=${CMAKE_MATCH_2}")
  endif()
endforeach()

foreach(program ${hf_programs})
  string(REPLACE "=" ";" program ${program})
  list(GET program 0 name)
  list(GET program 1 folder)
  set(libraries)
  foreach(row IN LISTS hf_rows)
    if(row MATCHES "^${folder} *\\| *([^|]*[^| ]) *\\|")
      string(REGEX REPLACE "([a-z_/]+)" "hf_\\1" libraries "${CMAKE_MATCH_1}")
      string(REPLACE "/" "_" libraries "${libraries}")
      separate_arguments(libraries)
    endif()
  endforeach()
  hf_program(${name} ${CMAKE_SOURCE_DIR}/src/${folder}/main.cpp LINK ${libraries})
endforeach()

# For tests and benchmarks: all of the memory.
add_library(hf_memory INTERFACE)
foreach(row IN LISTS hf_rows)
  if(row MATCHES "^(memory/[a-z_]+) *\\|")
    string(REPLACE "/" "_" name hf_${CMAKE_MATCH_1})
    target_link_libraries(hf_memory INTERFACE ${name})
  endif()
endforeach()
