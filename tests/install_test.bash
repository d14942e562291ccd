#!/usr/bin/env bash
# The installed program needs nothing of the folder it was built in: nothing installed names that folder or links to
# it, and without environment, far from it, the program answers as the built one does.
#   install_test.bash CMAKE SOURCE_FOLDER BUILD_FOLDER
set -u
cmake=$1 source=$2 build=$3
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
status=0
fails() {
  printf 'FAILED: %s\n' "$*"
  status=1
}

"$cmake" --install "$build" --prefix "$prefix" >"$prefix/log" || { cat "$prefix/log"; exit 1; }
rm "$prefix/log"

named=$(grep -rlF -- "$source" "$prefix") && fails "these name the source folder:" "$named"
links=$(find "$prefix" -type l -lname '/*') && [[ -n $links ]] && fails "these are links out of it:" "$links"
for file in bin/kw share/bash-completion/completions/kw share/zsh/site-functions/_kw share/doc/kernelwright/LICENSE; do
  [[ -e $prefix/$file ]] || fails "$file is not installed"
done
for suite in "$source"/suites/*; do
  [[ -e $suite ]] || continue
  cmp -s "$suite" "$prefix/share/kernelwright/suites/${suite##*/}" || fails "suites/${suite##*/} is not installed"
done

built=$(cd / && env -i "$build/bin/kw" tasks) || fails "the built program ends with $?"
installed=$(cd / && env -i "$prefix/bin/kw" tasks) || fails "the installed program ends with $?"
[[ $installed == "$built" ]] || fails "the installed program says: $installed"
exit "$status"
