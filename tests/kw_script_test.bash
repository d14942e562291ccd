#!/usr/bin/env bash
# The promises of ./kw, tried on a made-up project with made-up tools: what it builds when, what it says, what it exits with.
#   kw_script_test.bash FOLDER_OF_THE_PROJECT
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

expect() { # WHAT GOT WANTED
  [[ $2 == "$3" ]] && return
  printf 'FAILED %s\n  got    %s\n  wanted %s\n' "$1" "$2" "$3"
  failures=$((failures + 1))
}

project="$folder/a project"
mkdir -p "$project"/{src/ops,cmake,include} "$folder/tools" "$folder/elsewhere"
cp "$1/kw" "$1/packages.txt" "$project"
mkdir -p "$project/docs"
echo '[a](docs/a.md) [gone](gone.txt) [out](../../etc/passwd) [far](https://x.org/b.md)' >"$project/README.md"
echo '[up](../src/ops/op.h) ![picture](p.png)' >"$project/docs/a.md"
touch "$project"/{ARCHITECTURE.md,CONTRIBUTING.md,docs/p.png,docs/unlinked.txt}
touch "$project"/{src/ops/op.cpp,src/ops/op.h,cmake/modules.cmake,CMakeLists.txt,CMakePresets.json}

tool() { # NAME, its script on stdin
  cat >"$folder/tools/$1"
  chmod +x "$folder/tools/$1"
}
tool cmake <<TOOL
#!/bin/bash
echo "\$*" >>"$folder/calls"
echo "noise on stdout"
[[ -e "$folder/broken" ]] && { echo "op.cpp:3: error: expected ';'" >&2; exit 1; }
if [[ \$1 == --build ]]; then
  sleep 0.2
  mkdir -p "\$2/bin"
  printf '#!/bin/bash\nprintf "<%%s>" "\$PWD" "\$@"\nexit 7\n' >"\$2/bin/kw"
  chmod +x "\$2/bin/kw"
  [[ "\$*" != *kw-lm* ]] || cp "\$2/bin/kw" "\$2/bin/kw-lm"
  [[ "\$*" == *"--target sbom"* ]] && echo '{"bomFormat": "made up"}' >"\$2/sbom.cdx.json"
fi
exit 0
TOOL
tool mkdocs <<TOOL
#!/bin/bash
echo "INFO: building"
(cd build/pages && find . -type f | LC_ALL=C sort | tr '\n' ' ') >"$folder/pages"
[[ ! -e "$folder/dead" ]] || { echo "WARNING: docs/a.md contains a dead link"; exit 1; }
TOOL
tool cpack <<'TOOL'
#!/bin/bash
[[ $1 == --config && $2 == */build/release/CPackConfig.cmake && $3 == -B ]] || exit 1
mkdir -p "$4/_CPack_Packages" && touch "$4/kernelwright_1.0_amd64.deb"
TOOL
tool dpkg-query <<TOOL
#!/bin/bash
[[ -e "$folder/bare" ]] || printf '%s=installed\n' "\${@:3}"
TOOL
tool apt-get <<'TOOL'
#!/bin/bash
echo "E: Could not resolve 'deb.debian.org'" >&2
exit 100
TOOL
tool sudo <<'TOOL'
#!/bin/bash
echo "sudo: a password is required" >&2
exit 1
TOOL
export PATH=$folder/tools:$PATH
kw=$project/kw

builds() { cat "$folder/calls" 2>/dev/null | grep -c -- --build; }
builds_after() { # COMMAND...: how many builds a ./kw needs after it
  sleep 0.02
  rm -f "$folder/calls"
  "$@"
  "$kw" >/dev/null 2>&1
  builds
}

cd "$folder/elsewhere" || exit 1
expect "several at once" "$(for _ in 1 2 3 4; do "$kw" "x y" '*' '' 2>/dev/null & done; wait)" \
  "$(for _ in 1 2 3 4; do printf '<%s><x y><*><>' "$PWD"; done)"
expect "several at once build once" "$(builds)" 1
"$kw" >/dev/null 2>&1
expect "the program's exit code" $? 7
ln -s "$kw" "$folder/elsewhere/link to kw"
expect "through a link" "$(./link\ to\ kw a 2>&1)" "<$PWD><a>"

expect "no change" "$(builds_after true)" 0
expect "a changed file" "$(builds_after touch "$project/src/ops/op.h")" 1
expect "a new file" "$(builds_after touch -d 2001-01-01 "$project/src/ops/new.cpp")" 1
expect "a deleted file" "$(builds_after rm "$project/src/ops/new.cpp")" 1
expect "a changed CMakeLists.txt" "$(builds_after touch "$project/CMakeLists.txt")" 1
expect "a lost program" "$(builds_after rm "$project/build/release/bin/kw")" 1
rm -f "$folder/calls"
expect "a command that runs a model" "$("$kw" lm info x 2>/dev/null)" "<$PWD><lm><info><x>"
expect "the engine is built with it" "$(grep -c -- '--target kw-lm' "$folder/calls"),$(grep -c -- -DKW_LM=ON "$folder/calls")" "1,1"
rm -f "$folder/calls"
"$kw" compress m >/dev/null 2>&1
"$kw" lm --help >/dev/null 2>&1
expect "the engine is built once" "$(builds)" 0
touch "$project/src/ops/op.h"
"$kw" tasks >/dev/null 2>&1
expect "other commands leave the engine alone" "$(grep -c -- kw-lm "$folder/calls")" 0
"$kw" ask --model lm:x Hello >/dev/null 2>&1
expect "a model that is named lm: needs it" "$(grep -c -- '--target kw-lm' "$folder/calls")" 1
expect "a change that is no source" "$(builds_after touch "$project/README.md")" 0
expect "where the site is" "$("$kw" docs 2>/dev/null)" "$project/build/site/index.html"
expect "a site has the pages and what they link to" "$(<"$folder/pages")" \
  "./ARCHITECTURE.md ./CONTRIBUTING.md ./README.md ./docs/a.md ./docs/p.png ./src/ops/op.h "
expect "where the package is" "$("$kw" package 2>/dev/null)" "$project/build/package/kernelwright_1.0_amd64.deb"
expect "what lies beside it" "$(cat "$project/build/package/sbom.cdx.json")" '{"bomFormat": "made up"}'
expect "the SBOM and nothing else" "$("$kw" sbom 2>/dev/null)" '{"bomFormat": "made up"}'
"$kw" sbom --unknown >/dev/null 2>&1
expect "exit code of an unknown argument of sbom" $? 2
"$kw" package --unknown >/dev/null 2>&1
expect "exit code of an unknown argument of package" $? 2
touch "$folder/dead"
said=$("$kw" docs 2>&1)
expect "exit code of a site with a dead link" $? 2
[[ $said == *"docs/a.md contains a dead link"* ]]
expect "a dead link is named" $? 0
rm "$folder/dead"

mv "$project" "$folder/moved project"
project="$folder/moved project"
kw=$project/kw
expect "a moved project" "$(builds_after true)" 1

touch "$project/src/ops/op.cpp" "$folder/broken"
rm -f "$folder/calls"
"$kw" __complete t >/dev/null
expect "completion never builds" "$(builds)" 0
expect "stdout of a broken build" "$("$kw" 2>/dev/null)" ""
said=$("$kw" 2>&1)
expect "exit code of a broken build" $? 2
[[ $said == *"error: expected ';'"* ]]
expect "a broken build shows the error" $? 0
"$kw" >/dev/null 2>&1
expect "a broken build stays broken" $? 2
rm "$folder/broken"
expect "mended" "$("$kw" 2>/dev/null)" "<$PWD>"

touch "$folder/bare"
touch "$project/src/ops/op.cpp"
as_user=()
if ((EUID == 0)); then
  said=$("$kw" 2>&1)
  expect "exit code without network" $? 2
  [[ $said == *"Could not resolve"*"could not be installed"*libfmt-dev* ]]
  expect "names what could not be installed and why" $? 0
  as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  chmod 755 "$folder"
  chown -R 65534:65534 "$folder"
fi
said=$("${as_user[@]}" "$kw" 2>&1)
expect "exit code of a user who may not install" $? 2
[[ $said == *"g++ cmake ninja-build"*"As root:"*"apt-get install g++ cmake"* && $said != *libgtest-dev* ]]
expect "tells a user what to ask for" $? 0

exit $((failures > 0))
