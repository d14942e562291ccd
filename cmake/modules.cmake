# A folder of src/ is a module: a static library kw_NAME of its sources, its tests beside them.
# OWN_TESTS: its tests are a program of their own, kw_NAME_tests, for what no other test should link. PRECOMPILE: headers
# that this module alone precompiles.
#
#   kw_module(ops DEPENDS base core)
#   kw_module(ops UNITY 3 DEPENDS base core)   three sources are compiled as one
#   kw_module(targets QUICK DEPENDS base COLD cuda)   all of it quick, but not what lies in targets/cuda
#   kw_plugins(ops families NAMESPACE kw::ops::families HEADER ops/families.h TYPE Family RETURNS "std::vector<Op>")

add_library(kw_flags INTERFACE)
# asserts name src/x.cpp: an installed program knows no folder of its builder
target_compile_options(kw_flags INTERFACE -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)
if(KW_TESTS OR KW_WERROR)
  target_compile_options(kw_flags INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
                                            -Wno-missing-field-initializers  # designated initializers name what they set
                                            # g++ 12 sees these in correct code around std::variant and std::string
                                            $<$<CXX_COMPILER_ID:GNU>:-Wno-free-nonheap-object -Wno-maybe-uninitialized -Wno-array-bounds -Wno-stringop-overflow>
                                            $<$<BOOL:${KW_WERROR}>:-Werror>)
else()
  # Who only builds it has no use for warnings, nor for checks of format strings: the tests' build makes both.
  target_compile_options(kw_flags INTERFACE -w)
  target_compile_definitions(kw_flags INTERFACE FMT_CONSTEVAL=)
endif()
# The compiler collects its garbage less often: 8 % of its time.
target_compile_options(kw_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-expand=200 --param=ggc-min-heapsize=500000>)
target_include_directories(kw_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
# The tests' build links seventy programs: gold, which comes with binutils, takes half of ld's time.
find_program(KW_GOLD ld.gold)
if(KW_TESTS AND KW_GOLD)
  target_link_options(kw_flags INTERFACE -fuse-ld=gold)
endif()

set(KW_COMMON_HEADERS <algorithm> <array> <charconv> <chrono> <cmath> <concepts> <cstdint> <cstring> <filesystem> <functional>
                      <map> <memory> <mutex> <optional> <ostream> <random> <set> <span> <string> <string_view> <thread>
                      <tuple> <unordered_map> <utility> <variant> <vector> <fmt/format.h> <fmt/ranges.h>
                      # of ours, what nearly everything includes
                      ${CMAKE_SOURCE_DIR}/src/base/compiled_once.h ${CMAKE_SOURCE_DIR}/src/base/files.h ${CMAKE_SOURCE_DIR}/src/base/json.h
                      ${CMAKE_SOURCE_DIR}/src/base/result.h ${CMAKE_SOURCE_DIR}/src/core/task.h ${CMAKE_SOURCE_DIR}/src/core/verdict.h)

# Neighbouring sources of a folder instantiate the same templates: compiled as one they take half of the time. So few at a
# time (about 70 KB of a module) that one that was edited is rebuilt in seconds. What they have in unnamed namespaces must
# differ in name.
function(kw_group target size)
  if(KW_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
    # It takes the sources of a group for headers, in which unnamed namespaces would be a mistake.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# A program beside the modules is compiled with the headers that they have precompiled. QUICK: optimised as what it times.
function(kw_program target)
  cmake_parse_arguments(ARG "QUICK" "" "" ${ARGN})
  if(ARG_QUICK)
    target_precompile_headers(${target} REUSE_FROM kw_base)
  else()
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Og>)
    target_precompile_headers(${target} REUSE_FROM kw_llm)
  endif()
endfunction()

# How a module's sources are compiled.
function(kw_compile target quick unity precompile)
  # Most of a file's compile time goes into the same headers of the libraries: they are compiled once, for all modules of
  # one level of optimisation. What a user waits for is in the QUICK ones; -Og compiles the others in half of the time.
  if(quick)
    set(first kw_base)
  else()
    set(first kw_llm)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Og>)
  endif()
  if(unity)
    kw_group(${target} ${unity})
  endif()
  if(first STREQUAL target OR precompile)
    target_precompile_headers(${target} PRIVATE ${KW_COMMON_HEADERS} ${precompile})
  else()
    target_precompile_headers(${target} REUSE_FROM ${first})
  endif()
endfunction()

function(kw_module name)
  cmake_parse_arguments(ARG "QUICK;OWN_TESTS" "UNITY" "DEPENDS;LIBRARIES;PRECOMPILE;COLD" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*/*.cpp
       ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*/*/*.cpp)
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.h ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*/*.h
       ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*/*/*.h)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  set(benches ${sources})
  list(FILTER benches INCLUDE REGEX "_bench\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "_(test|bench|fuzz)\\.cpp$|/main\\.cpp$")
  list(TRANSFORM ARG_DEPENDS PREPEND kw_)
  if(ARG_COLD)
    set(cold ${sources})
    list(JOIN ARG_COLD "|" folders)
    list(FILTER cold INCLUDE REGEX "/${name}/(${folders})/")
    list(FILTER sources EXCLUDE REGEX "/${name}/(${folders})/")
    add_library(kw_${name}_cold OBJECT ${cold})
    kw_compile(kw_${name}_cold OFF "${ARG_UNITY}" "${ARG_PRECOMPILE}")
    target_link_libraries(kw_${name}_cold PUBLIC kw_flags fmt::fmt ${ARG_DEPENDS})
    list(APPEND sources $<TARGET_OBJECTS:kw_${name}_cold>)
  endif()
  add_library(kw_${name} STATIC ${sources})
  # Every header compiles alone: `cmake --build build/dev --target all_verify_interface_header_sets`. It takes a quarter of
  # the tests' build, so that the tests only read what headers include (tests/house_includes_test.cpp).
  target_sources(kw_${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR}/src FILES ${headers})
  if(KW_TESTS)
    set_target_properties(kw_${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  endif()
  target_link_libraries(kw_${name} PUBLIC kw_flags fmt::fmt ${ARG_DEPENDS} PRIVATE ${ARG_LIBRARIES})
  kw_compile(kw_${name} ${ARG_QUICK} "${ARG_UNITY}" "${ARG_PRECOMPILE}")
  # An x_bench.cpp is a program kw_x_bench.
  if(KW_TESTS)
    foreach(bench ${benches})
      get_filename_component(program ${bench} NAME_WE)
      add_executable(kw_${program} ${bench})
      target_link_libraries(kw_${program} PRIVATE kw_${name})
      kw_program(kw_${program} QUICK)
    endforeach()
  endif()
  if(KW_TESTS AND tests)
    if(ARG_OWN_TESTS)
      set_property(GLOBAL APPEND PROPERTY KW_OWN_TESTS ${name})
      set_property(GLOBAL PROPERTY KW_OWN_TEST_SOURCES_${name} ${tests})
      # The headers that a module alone precompiles weigh more than GoogleTest's.
      if(ARG_PRECOMPILE)
        set_property(GLOBAL PROPERTY KW_OWN_HEADERS_${name} kw_${name})
      else()
        set_property(GLOBAL PROPERTY KW_OWN_HEADERS_${name} kw_tests)
      endif()
    else()
      set_property(GLOBAL APPEND PROPERTY KW_TEST_SOURCES ${tests})
    endif()
  endif()
endfunction()

# The table of a plug-in folder: every FOLDER/NAME.cpp defines `RETURNS NAME();` in NAMESPACE; this writes the file that
# lists them. A file without that function fails to link, by name. IN_FOLDERS target.cpp: every folder of the module that
# has such a file is a plug-in, and the function has the folder's name.
function(kw_plugins module folder)
  cmake_parse_arguments(ARG "" "NAMESPACE;HEADER;TYPE;RETURNS;IN_FOLDERS" "" ${ARGN})
  if(ARG_IN_FOLDERS)
    file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${module}/*/${ARG_IN_FOLDERS})
    if(KW_TESTS)  # those of tests/MODULE too, with all that lies beside them
      file(GLOB made_up CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${module}/*/${ARG_IN_FOLDERS})
      list(APPEND files ${made_up})
      foreach(file ${made_up})
        get_filename_component(beside ${file} DIRECTORY)
        file(GLOB parts CONFIGURE_DEPENDS ${beside}/*.cpp)
        target_sources(kw_${module} PRIVATE ${parts})
      endforeach()
      target_include_directories(kw_${module} PUBLIC ${CMAKE_SOURCE_DIR}/tests)
    endif()
  else()
    file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${module}/${folder}/*.cpp)
    list(FILTER files EXCLUDE REGEX "_(test|bench|fuzz)\\.cpp$")
  endif()
  set(declarations "")
  set(entries "")
  foreach(file ${files})
    if(ARG_IN_FOLDERS)
      get_filename_component(plugin ${file} DIRECTORY)
      get_filename_component(plugin ${plugin} NAME)
    else()
      get_filename_component(plugin ${file} NAME_WE)
    endif()
    string(APPEND declarations "${ARG_RETURNS} ${plugin}();\n")
    string(APPEND entries "    ${plugin},\n")
  endforeach()
  set(table ${CMAKE_CURRENT_BINARY_DIR}/${module}_${folder}_table.cpp)
  file(CONFIGURE OUTPUT ${table} CONTENT
"// Written by the build from the files of src/${module}/${folder}.
#include \"${ARG_HEADER}\"

namespace ${ARG_NAMESPACE} {

${declarations}
namespace {
const ${ARG_TYPE} kTable[] = {
${entries}};
}  // namespace

const std::span<const ${ARG_TYPE}> table(kTable);

}  // namespace ${ARG_NAMESPACE}
" @ONLY)
  target_sources(kw_${module} PRIVATE ${table})
endfunction()
