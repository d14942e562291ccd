#!/usr/bin/env bash
# The C++ files that CONTRIBUTING.md shows in full compile as they stand, and are laid out as ours are.
#   docs_test.bash COMPILER CLANG_FORMAT SOURCE_FOLDER
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

awk -v folder="$folder" '
  /^```cpp$/ { inside = folder "/example_" ++count ".cpp"; next }
  /^```$/ { inside = "" }
  inside { print > inside }' "$3/CONTRIBUTING.md"

status=0
for file in "$folder"/*.cpp; do
  "$1" -std=c++20 -fsyntax-only -Wall -Wextra -Werror -Wno-missing-field-initializers -I "$3/src" -I "$3/include" "$file" || status=1
  "$2" --style="file:$3/.clang-format" --dry-run -Werror "$file" || status=1
done
exit "$status"
