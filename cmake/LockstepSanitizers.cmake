# What the thread sanitizer has to know about Abseil and Asio; every program of its build is linked with it.
if(LOCKSTEP_SANITIZE MATCHES "thread")
  # The sanitizer does not know bare fences; those that Asio sets around handlers double its queue's mutex.
  add_compile_definitions(BOOST_ASIO_DISABLE_FENCED_BLOCK)
  add_library(lockstep_tsan_abseil OBJECT ${PROJECT_SOURCE_DIR}/tests/sanitizers/tsan_abseil.cc)
  target_link_libraries(lockstep_tsan_abseil PRIVATE absl::status absl::synchronization absl::time)
  # Visible, so that Abseil's own calls meet these definitions too.
  set_target_properties(lockstep_tsan_abseil PROPERTIES CXX_VISIBILITY_PRESET default)
  set(is_program $<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>)
  link_libraries($<${is_program}:$<TARGET_OBJECTS:lockstep_tsan_abseil>>
                 $<${is_program}:absl::status> $<${is_program}:absl::synchronization> $<${is_program}:absl::time>)
endif()
