# The shared library that users link, and the same objects as an archive for tests of what it hides.
get_property(floors GLOBAL PROPERTY LOCKSTEP_FLOORS)

add_library(lockstep SHARED)
add_library(lockstep::lockstep ALIAS lockstep)
add_library(lockstep_internal STATIC)
foreach(floor IN LISTS floors)
  target_sources(lockstep PRIVATE $<TARGET_OBJECTS:${floor}>)
  target_sources(lockstep_internal PRIVATE $<TARGET_OBJECTS:${floor}>)
endforeach()
set_target_properties(lockstep PROPERTIES LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION}
                                          SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set_target_properties(lockstep_internal PROPERTIES LINKER_LANGUAGE CXX EXCLUDE_FROM_ALL ON)
target_include_directories(lockstep PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                           $<INSTALL_INTERFACE:include>)
target_include_directories(lockstep_internal PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
target_compile_features(lockstep PUBLIC cxx_std_20)
set(public_libraries absl::status absl::statusor absl::span)
set(private_libraries absl::strings absl::str_format absl::synchronization absl::time absl::flat_hash_map
                      OpenSSL::SSL OpenSSL::Crypto Threads::Threads ${CMAKE_DL_LIBS})
target_link_libraries(lockstep PUBLIC ${public_libraries} PRIVATE ${private_libraries})
target_link_libraries(lockstep_internal PUBLIC ${public_libraries} ${private_libraries})
