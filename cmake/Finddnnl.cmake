# DNNL::dnnl, oneDNN. Found here rather than by its own package file, which in Debian asks for the development
# files of OpenCL, that a user of the CPU engine has no need of.
find_path(dnnl_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(dnnl_LIBRARY dnnl)
mark_as_advanced(dnnl_INCLUDE_DIR dnnl_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(dnnl REQUIRED_VARS dnnl_LIBRARY dnnl_INCLUDE_DIR)

if(dnnl_FOUND AND NOT TARGET DNNL::dnnl)
  add_library(DNNL::dnnl UNKNOWN IMPORTED)
  set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION ${dnnl_LIBRARY}
                                              INTERFACE_INCLUDE_DIRECTORIES ${dnnl_INCLUDE_DIR})
endif()
