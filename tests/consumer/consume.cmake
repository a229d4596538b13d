# cmake -D MODE=install|build_tree|subdirectory -D SOURCE_DIR=... -D BUILD_DIR=... -D WORK_DIR=... -P consume.cmake
# Builds the foreign project against the library and runs its program as a world of one rank.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nended with ${result}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

set(program_dir ${WORK_DIR}/build)
set(settings -D CMAKE_BUILD_TYPE=${BUILD_TYPE} -D CMAKE_CXX_COMPILER=${CXX_COMPILER}
             "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=${FLAGS}")
file(REMOVE_RECURSE ${WORK_DIR})
if(MODE STREQUAL "install")
  # Installed in one place and used from another: nothing may remember where it was.
  run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/staging)
  file(RENAME ${WORK_DIR}/staging ${WORK_DIR}/prefix)
  list(APPEND settings -D CMAKE_PREFIX_PATH=${WORK_DIR}/prefix)
elseif(MODE STREQUAL "build_tree")
  list(APPEND settings -D lockstep_DIR=${BUILD_DIR})
elseif(MODE STREQUAL "subdirectory")
  # With the flags that the library already has, so that the compiler's cache can answer.
  set(program_dir ${WORK_DIR})
  list(APPEND settings -D LOCKSTEP_SOURCE_DIR=${SOURCE_DIR} -D LOCKSTEP_WARNINGS_AS_ERRORS=ON)
else()
  message(FATAL_ERROR "MODE is '${MODE}' (expected install, build_tree or subdirectory)")
endif()

run(${CMAKE_COMMAND} -G Ninja -S ${CMAKE_CURRENT_LIST_DIR}/project -B ${program_dir} ${settings})
run(${CMAKE_COMMAND} --build ${program_dir})
run(${CMAKE_COMMAND} -E env --unset=RANK --unset=WORLD_SIZE --unset=LD_LIBRARY_PATH ${program_dir}/trainer)
if(NOT output MATCHES "rank 0 of 1, bf16 has 2 bytes, gradient 2")
  message(FATAL_ERROR "the program printed: ${output}")
endif()
message(STATUS "${output}")

if(MODE STREQUAL "install")
  run(${CMAKE_COMMAND} -E env --unset=LD_LIBRARY_PATH ${WORK_DIR}/prefix/bin/lockstep version)
  message(STATUS "${output}")
  if(EXISTS ${WORK_DIR}/prefix/bin/lockstep-gpt)
    run(${CMAKE_COMMAND} -E env --unset=LD_LIBRARY_PATH ${WORK_DIR}/prefix/bin/lockstep-gpt --help)
  endif()
endif()
