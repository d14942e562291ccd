# LibTorch as the target kw_torch: the system's, or the one of a Python's torch 2.x (KW_TORCH_PREFIX=.../site-packages/torch),
# whose own CMake files would ask for the CUDA toolkit that it was built with.
add_library(kw_torch INTERFACE)
if(KW_TORCH_PREFIX)
  set(places PATHS ${KW_TORCH_PREFIX}/lib NO_DEFAULT_PATH)
  # It brings headers of a fmt of its own: those that we link are found before them.
  find_path(FMT_HEADERS fmt/core.h PATHS /usr/include NO_DEFAULT_PATH REQUIRED)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/headers_before_torch)
  file(CREATE_LINK ${FMT_HEADERS}/fmt ${CMAKE_BINARY_DIR}/headers_before_torch/fmt SYMBOLIC)
  target_include_directories(kw_torch SYSTEM INTERFACE ${CMAKE_BINARY_DIR}/headers_before_torch ${KW_TORCH_PREFIX}/include)
  target_link_options(kw_torch INTERFACE -Wl,-rpath,${KW_TORCH_PREFIX}/lib)
endif()
find_library(TORCH_CPU torch_cpu ${places} REQUIRED)
find_library(TORCH_C10 c10 ${places} REQUIRED)
target_link_libraries(kw_torch INTERFACE ${TORCH_CPU} ${TORCH_C10})
