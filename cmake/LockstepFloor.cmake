# lockstep_warnings(TARGET): the warnings that our own code is held to.
function(lockstep_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wconversion -Wno-sign-conversion)
  # GCC 12 takes its own std::string operator+ for an overlapping copy (GCC bug 105651).
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
  if(LOCKSTEP_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

# lockstep_floor(NAME SOURCES file... [DEPENDS target...]): one floor of the library as an object library,
# lockstep_NAME. The shared library and the internal tests are linked from the floors' objects.
function(lockstep_floor name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(lockstep_${name} OBJECT ${arg_SOURCES})
  target_include_directories(lockstep_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
  target_link_libraries(lockstep_${name} PUBLIC absl::status absl::statusor absl::span absl::strings
                                                absl::synchronization absl::time Threads::Threads ${arg_DEPENDS})
  lockstep_warnings(lockstep_${name})
  set_property(GLOBAL APPEND PROPERTY LOCKSTEP_FLOORS lockstep_${name})
endfunction()
