# What `cmake --install` gives: headers, the shared library, the program lockstep, and a package that
# find_package(lockstep CONFIG) finds, in the installed tree and in the build tree alike. Trainers install
# themselves, where they are built.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

option(LOCKSTEP_INSTALL "Generate the install rules" ${PROJECT_IS_TOP_LEVEL})
if(NOT LOCKSTEP_INSTALL)
  return()
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lockstep)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/lockstep DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
install(TARGETS lockstep EXPORT lockstepTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET lockstep_cli)
  install(TARGETS lockstep_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/lockstepConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/lockstepConfig.cmake INSTALL_DESTINATION ${package_dir})
# While the major version is 0, a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lockstepConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lockstepConfig.cmake ${PROJECT_BINARY_DIR}/lockstepConfigVersion.cmake
        DESTINATION ${package_dir})
install(EXPORT lockstepTargets NAMESPACE lockstep:: DESTINATION ${package_dir})
export(EXPORT lockstepTargets NAMESPACE lockstep:: FILE ${PROJECT_BINARY_DIR}/lockstepTargets.cmake)
