# lockstep_fuzzer(NAME SOURCES file... [CORPUS folder] [RUNS count])
# A fuzz target: sources that define LLVMFuzzerTestOneInput and see the library's internals. In a build with
# LOCKSTEP_BUILD_FUZZERS it is a libFuzzer program (bin/NAME --help=1). In every other build the same sources are
# a test, NAME.replay, that goes through the corpus and RUNS damaged and random inputs (default 20000), always
# the same ones. The target fuzzers builds all of them.
add_custom_target(fuzzers)
function(lockstep_fuzzer name)
  cmake_parse_arguments(arg "" "CORPUS;RUNS" "SOURCES" ${ARGN})
  if(NOT arg_RUNS)
    set(arg_RUNS 20000)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE lockstep_internal)
  lockstep_warnings(${name})
  add_dependencies(fuzzers ${name})
  if(LOCKSTEP_BUILD_FUZZERS)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    return()
  endif()
  target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/fuzz/replay_main.cc)
  add_test(NAME ${name}.replay COMMAND ${name} --runs ${arg_RUNS} ${arg_CORPUS}
           WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  set_tests_properties(${name}.replay PROPERTIES LABELS unit TIMEOUT 120)
endfunction()
