#!/usr/bin/env bash
# Every header of kernels/ compiles alone, so that it can be read, edited and checked alone: it includes the contract and
# every part that it uses, and no part is there only because another header came first.
#
#   kernel_headers_test.bash COMPILER SOURCE_FOLDER
set -u
export compiler=$1
cd "$2" || exit 1
folder=$(mktemp -d)
export folder
trap 'rm -rf "$folder"' EXIT

# In C++20 an unknown name before < passes for a function template that is found when the template around it is used;
# C++17 reports it. The plain kernels are templates, and all but one can be read as C++17.
export cxx17="-std=gnu++17 -w" cxx20="-std=c++20 -march=native -w"

# Most of the time would go into the contract and the headers of the language: they are compiled once. A header that does
# not include them would pass then, so that is looked for in its text.
for version in cxx17 cxx20; do
  mkdir "$folder/$version"
  cp include/kernelwright.h include/kernelwright_cuda.h "$folder/$version"
  # shellcheck disable=SC2086
  "$compiler" ${!version} -x c++-header "$folder/$version/kernelwright.h" -o "$folder/$version/kernelwright.h.gch" &
done
wait

check() { # VERSION HEADER...
  local version=$1 failed=0 header
  shift
  for header; do
    # shellcheck disable=SC2086
    "$compiler" ${!version} -fsyntax-only -I "$folder/$version" -include kernelwright.h -x c++ - \
      <<<"#include \"$PWD/$header\"" || failed=1
  done
  return "$failed"
}
export -f check

status=0
for header in $(find kernels -name '*.h'); do
  grep -qx '#include <kernelwright.h>' "$header" && grep -qx '#pragma once' "$header" && continue
  printf 'FAILED: %s lacks "#pragma once" or "#include <kernelwright.h>"\n' "$header"
  status=1
done
is_cxx17=(-path 'kernels/plain/*' ! -name Einsum.h)
{
  find kernels -name '*.h' "${is_cxx17[@]}" -print0 | xargs -0 -n 16 echo cxx17
  find kernels -name '*.h' ! \( "${is_cxx17[@]}" \) -print0 | xargs -0 -n 16 echo cxx20
} | xargs -L 1 -P "$(nproc)" bash -c 'check "$@"' _ || status=1
exit "$status"
