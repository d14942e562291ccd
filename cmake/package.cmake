# The manual, and the Debian package that `./kw package` makes (or `cpack` in a build folder).

# The program prints its own manual pages (src/cli/manual.h).
install(CODE "
  set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1\")
  execute_process(COMMAND \"$<TARGET_FILE:kw>\" __man \"\${folder}\" COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB pages \"\${folder}/kw.1\" \"\${folder}/kw-*.1\")
  execute_process(COMMAND gzip -9nf \${pages} COMMAND_ERROR_IS_FATAL ANY)")
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
