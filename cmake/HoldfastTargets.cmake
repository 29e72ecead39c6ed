# One place for compiler flags, and three functions that make targets the same way everywhere.

add_library(hf_flags INTERFACE)
target_compile_options(hf_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Wold-style-cast
  -Wcast-qual -Wformat=2 -Wimplicit-fallthrough -Wno-missing-field-initializers -Werror -fstack-protector-strong
  # Small programs: what is not used is not linked.
  -ffunction-sections -fdata-sections)
target_include_directories(hf_flags INTERFACE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
target_compile_definitions(hf_flags INTERFACE HOLDFAST_VERSION="${PROJECT_VERSION}")
if(HOLDFAST_SANITIZE)
  target_compile_options(hf_flags INTERFACE -fsanitize=${HOLDFAST_SANITIZE} -fno-omit-frame-pointer
                                            -fno-sanitize-recover=all)
  # What the sanitizers put in between confuses these warnings; the plain build has them.
  target_compile_options(hf_flags INTERFACE -Wno-maybe-uninitialized -Wno-array-bounds)
  target_link_options(hf_flags INTERFACE -fsanitize=${HOLDFAST_SANITIZE})
endif()

# What nearly every file includes, parsed once for the libraries and once for the tests. A file still includes
# what it uses: the linter compiles without these.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(hf_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>) # or ccache cannot follow
endif()
set(hf_common_headers <algorithm> <array> <chrono> <cstdint> <expected> <functional> <map> <memory> <optional> <string>
                      <string_view> <utility> <vector>)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/pch/empty.cpp CONTENT "") # written only when it is not there
add_library(hf_library_headers STATIC ${CMAKE_BINARY_DIR}/pch/empty.cpp)
target_link_libraries(hf_library_headers PUBLIC hf_flags)
target_precompile_headers(hf_library_headers PRIVATE ${hf_common_headers})

# hf_library(NAME source... [LINK lib...]): a static library of one layer.
function(hf_library name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  add_library(${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC hf_flags ${arg_LINK})
  target_precompile_headers(${name} REUSE_FROM hf_library_headers)
endfunction()

# hf_program(NAME source... [LINK lib...]): a program in build/bin. Static unless sanitized: a static
# program starts faster, is smaller in memory, and does not depend on the machine it is copied to.
function(hf_program name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE hf_flags ${arg_LINK})
  if(NOT HOLDFAST_SANITIZE)
    target_link_options(${name} PRIVATE -static -Wl,--gc-sections)
  endif()
endfunction()

# The tests' own code has nothing to gain from the optimiser, which is most of the time it takes to compile.
set(hf_test_options $<$<CONFIG:Release>:-Og>)

add_custom_target(thread_tests)
if(HOLDFAST_TESTS)
  find_package(GTest REQUIRED)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/pch/main.cpp CONTENT "int main() {}\n")
  add_executable(hf_test_headers ${CMAKE_BINARY_DIR}/pch/main.cpp)
  target_link_libraries(hf_test_headers PRIVATE hf_flags GTest::gtest)
  target_compile_options(hf_test_headers PRIVATE ${hf_test_options})
  target_precompile_headers(hf_test_headers PRIVATE ${hf_common_headers} <filesystem> <mutex> <set> <thread>
                                                    <gtest/gtest.h>)
endif()

# How long a test may take before ctest ends it. A test must not depend on speed: `seconds` is at least ten times what it
# takes alone on a quiet machine in the release build, and never under ten minutes, since a limit that is not reached costs
# nothing. A sanitizer makes everything slower. HOLDFAST_TEST_LIMIT_FACTOR stretches all limits, for very slow machines.
set(HOLDFAST_TEST_LIMIT_FACTOR 1 CACHE STRING "All time limits of tests are multiplied by this")
set(hf_limit_factor ${HOLDFAST_TEST_LIMIT_FACTOR})
if(HOLDFAST_SANITIZE STREQUAL "thread")
  math(EXPR hf_limit_factor "6 * ${HOLDFAST_TEST_LIMIT_FACTOR}")
elseif(HOLDFAST_SANITIZE)
  math(EXPR hf_limit_factor "4 * ${HOLDFAST_TEST_LIMIT_FACTOR}")
endif()

# hf_test_limit(NAME [seconds]): the limit of one ctest entry. For entries made by add_test; hf_test calls it.
function(hf_test_limit name)
  set(seconds 600)
  if(ARGC GREATER 1 AND ARGV1 GREATER seconds)
    set(seconds ${ARGV1})
  endif()
  math(EXPR seconds "${seconds} * ${hf_limit_factor}")
  set_tests_properties(${name} PROPERTIES TIMEOUT ${seconds})
endfunction()

# hf_full_size(NAME COMMAND... [VARIABLES name=value...]): a proof at its full size, which takes minutes to hours. Only
# `./scripts/test storm` runs these (ctest -C storm). Nothing runs beside them.
function(hf_full_size name)
  cmake_parse_arguments(arg "" "" "COMMAND;VARIABLES" ${ARGN})
  add_test(NAME full_${name} CONFIGURATIONS storm COMMAND ${arg_COMMAND})
  set_tests_properties(full_${name} PROPERTIES LABELS full-size RUN_SERIAL ON ENVIRONMENT "${arg_VARIABLES}")
  hf_test_limit(full_${name} 36000)
endfunction()

# hf_test(NAME source... [LINK lib...] [TIMEOUT s] [LABELS l...] [ARGS a...] [SERIAL]): a GoogleTest program,
# one ctest entry. TIMEOUT only for a test that takes more than a minute alone: see hf_test_limit.
function(hf_test name)
  cmake_parse_arguments(arg "SERIAL" "TIMEOUT" "LINK;LABELS;ARGS" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE hf_flags ${arg_LINK} GTest::gtest GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE HOLDFAST_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}"
                                             HOLDFAST_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests ${CMAKE_SOURCE_DIR}/tests/system)
  target_compile_options(${name} PRIVATE ${hf_test_options})
  target_precompile_headers(${name} REUSE_FROM hf_test_headers)
  add_test(NAME ${name} COMMAND ${name} ${arg_ARGS})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}")
  hf_test_limit(${name} ${arg_TIMEOUT})
  if(HOLDFAST_SANITIZE STREQUAL "thread") # tests that fork are part of the point: forks of hosts must be harmless
    set_tests_properties(${name} PROPERTIES ENVIRONMENT TSAN_OPTIONS=die_after_fork=0)
  endif()
  if("threads" IN_LIST arg_LABELS)
    add_dependencies(thread_tests ${name}) # what the thread sanitizer has something to say about
  endif()
  if(arg_SERIAL)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()
