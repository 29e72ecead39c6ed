# The proofs at their full size: what `./scripts/test storm` runs, and nothing else does. Each is a test of the release
# build with other numbers (the table in tests/README.md says which are used otherwise). hf_full_size: HoldfastTargets.cmake.
if(HOLDFAST_SANITIZE)
  return()
endif()
hf_full_size(slot_storm COMMAND slot_storm_test VARIABLES HOLDFAST_STORM_ROUNDS=1000000)
hf_full_size(supervise_storm COMMAND supervise_storm_test VARIABLES HOLDFAST_TRIALS=30000)
hf_full_size(keep_scale COMMAND keep_scale_test VARIABLES HOLDFAST_SCALE=10)
foreach(which FrontPlain FrontAuto KeeperPlain KeeperAuto FrontHostDies KeeperHostDies FrontIsStopped KeeperIsStopped)
  hf_full_size(keep_crash_${which} COMMAND keep_crash_test --gtest_filter=*${which} VARIABLES HOLDFAST_SWEEP_STRIDE=1)
endforeach()
hf_full_size(memory_crash COMMAND memory_crash_test VARIABLES HOLDFAST_ALL_POINTS=1)
hf_full_size(memory_durability COMMAND memory_durability_test VARIABLES HOLDFAST_ROUNDS=1000)
hf_full_size(memory_ledger COMMAND memory_ledger_test VARIABLES HOLDFAST_KILLS=5000)
hf_full_size(memory_start COMMAND memory_start_test VARIABLES HOLDFAST_SLOW_MS=60000 HOLDFAST_STORE_MB=1024
             HOLDFAST_WAL_MB=600 HOLDFAST_START_EVERY_MS=2000)
hf_full_size(memory_storm COMMAND memory_storm_test VARIABLES HOLDFAST_KILLS=300 HOLDFAST_ROUNDS=1000)
hf_full_size(hermes_conversation COMMAND /usr/bin/python3 -W error::ResourceWarning
             ${CMAKE_CURRENT_SOURCE_DIR}/e2e/hermes/test_conversation.py
             VARIABLES HOLDFAST_HERMES_TURNS=5000 HOLDFAST_BUILD_DIR=${CMAKE_BINARY_DIR} PYTHONDONTWRITEBYTECODE=1)
foreach(name newline content_length json peer http)
  if(TARGET fuzz_${name}_build)
    set(scratch ${CMAKE_BINARY_DIR}/tests/faults/fuzz/found/fuzz_${name})
    hf_full_size(fuzz_${name} COMMAND ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/fuzz_${name} -max_total_time=300 -max_len=2048
                 -timeout=100 -rss_limit_mb=1024 -verbosity=0 -artifact_prefix=${scratch}/ ${scratch}
                 ${CMAKE_CURRENT_SOURCE_DIR}/faults/fuzz/corpus/${name})
  endif()
endforeach()
