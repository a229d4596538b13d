option(LOCKSTEP_BUILD_CLI "Build the program lockstep (needs nlohmann-json)" ${PROJECT_IS_TOP_LEVEL})
option(LOCKSTEP_BUILD_EXAMPLES "Build the bundled trainers (needs oneDNN)" ${PROJECT_IS_TOP_LEVEL})
option(LOCKSTEP_BUILD_BENCHMARKS "Build the benchmarks (needs Google Benchmark)" ${PROJECT_IS_TOP_LEVEL})
option(LOCKSTEP_BUILD_TESTS "Build the tests (needs GoogleTest)" ${PROJECT_IS_TOP_LEVEL})
option(LOCKSTEP_BUILD_FUZZERS "Build the fuzz targets with libFuzzer (needs Clang)" OFF)
option(LOCKSTEP_WARNINGS_AS_ERRORS "Treat warnings in Lockstep's own code as errors" ${PROJECT_IS_TOP_LEVEL})
set(LOCKSTEP_SANITIZE "" CACHE STRING "Sanitizers to build with, as -fsanitize takes them")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

# Build folders and clones share the cache: without their names in the key, what one has compiled serves the others.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
      ${CCACHE_PROGRAM})
endif()

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

# Programs find the library beside them, so that build and install trees may be moved as a whole.
include(GNUInstallDirs)
file(RELATIVE_PATH library_from_programs /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CMAKE_INSTALL_LIBDIR})
set(CMAKE_INSTALL_RPATH "$ORIGIN/${library_from_programs}")
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

if(LOCKSTEP_SANITIZE)
  add_compile_options(-fsanitize=${LOCKSTEP_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${LOCKSTEP_SANITIZE})
endif()
if(LOCKSTEP_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "LOCKSTEP_BUILD_FUZZERS needs libFuzzer (the compiler is ${CMAKE_CXX_COMPILER_ID}); "
                        "use the preset fuzz, or configure with CXX=clang++")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()
