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

# hf_test(NAME source... [LINK lib...] [TIMEOUT s] [LABELS l...] [ARGS a...] [SERIAL]): a GoogleTest program,
# one ctest entry.
function(hf_test name)
  cmake_parse_arguments(arg "SERIAL" "TIMEOUT" "LINK;LABELS;ARGS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE hf_flags ${arg_LINK} GTest::gtest GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE HOLDFAST_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}"
                                             HOLDFAST_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  target_compile_options(${name} PRIVATE ${hf_test_options})
  target_precompile_headers(${name} REUSE_FROM hf_test_headers)
  add_test(NAME ${name} COMMAND ${name} ${arg_ARGS})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}")
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
