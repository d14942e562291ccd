# The manual, and the Debian package that `./kw package` makes (or `cpack` in a build folder).

# The program prints its own manual pages (src/command_line/manual.h).
install(CODE "
  set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1\")
  execute_process(COMMAND \"$<TARGET_FILE:kw>\" __man \"\${folder}\" COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB pages \"\${folder}/kw.1\" \"\${folder}/kw-*.1\")
  execute_process(COMMAND gzip -9nf \${pages} COMMAND_ERROR_IS_FATAL ANY)")

# What the programs consist of and can fetch (cmake/sbom.py); `./kw sbom` prints the same. Code of other packages that is
# in them or beside them, and programs that they start, are named here.
set(KW_SBOM_PACKAGES --contains libtomlplusplus-dev --contains node-d3 --with libcurl4 --with g++ --with binutils)
# What ./kw installs when a language model is first run: the group lm of packages.txt, LibTorch among them.
file(STRINGS ${CMAKE_SOURCE_DIR}/packages.txt lm_packages REGEX "^lm ")
foreach(line IN LISTS lm_packages)
  string(REGEX REPLACE "^lm +([^ ]+).*" "\\1" package "${line}")
  list(APPEND KW_SBOM_PACKAGES --later ${package})
endforeach()
find_program(PYTHON3 python3)
find_program(DPKG_QUERY dpkg-query)
if(PYTHON3 AND DPKG_QUERY)  # elsewhere nothing tells the libraries' versions
  set(sbom "${PYTHON3}" -I "${CMAKE_SOURCE_DIR}/cmake/sbom.py" --version ${PROJECT_VERSION}
           --rivals "${CMAKE_SOURCE_DIR}/rivals" ${KW_SBOM_PACKAGES}
           $<TARGET_FILE:kw> $<TARGET_FILE:kw-warden> $<TARGET_FILE:kw-nvrtc> $<TARGET_FILE:kw-cuda-worker>)
  list(JOIN sbom "\" \"" sbom_words)
  set(sbom_words "\"${sbom_words}\"")
  add_custom_target(sbom COMMAND ${sbom} > sbom.cdx.json WORKING_DIRECTORY ${CMAKE_BINARY_DIR} VERBATIM)
  add_dependencies(sbom kw kw-warden kw-nvrtc kw-cuda-worker)
  install(CODE "
    set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}\")
    file(MAKE_DIRECTORY \"\${folder}\")
    execute_process(COMMAND ${sbom_words} OUTPUT_FILE \"\${folder}/sbom.cdx.json\" COMMAND_ERROR_IS_FATAL ANY)")
endif()

install(FILES cmake/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME kernelwright)
set(CPACK_PACKAGE_CONTACT "The Kernelwright authors <kernelwright@invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "writes, judges and speeds up compute kernels")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"kw takes the operators of a neural network as tasks, writes kernels for them,
tests them against references in a sandbox, times them beside other frameworks
and searches for faster ones.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# What the two programs link comes from dpkg-shlibdeps. Besides: g++ compiles kernels, binutils reads them, libcurl is
# opened when a language model is asked first.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "g++, binutils, libcurl4 (>= 7.85)")
# clang: kernels may choose it as their compiler. llvm: llvm-mca, the cycles of a kernel's loops. python3-venv: frameworks
# as rivals. ca-certificates: downloading those, and language models over https.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "clang, llvm, python3-venv, ca-certificates")
include(CPack)
