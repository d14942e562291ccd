#!/usr/bin/env bash
# Every C++ file is laid out as .clang-format says. To mend all:
#   find src tests bench kernels include -name '*.cpp' -o -name '*.h' | xargs clang-format -i
#
#   format_test.bash CLANG_FORMAT SOURCE_FOLDER
set -u -o pipefail
cd "$2" || exit 1
find src tests bench kernels include \( -name '*.cpp' -o -name '*.h' \) -print0 | xargs -0 -n 8 -P "$(nproc)" "$1" --dry-run -Werror
