#!/usr/bin/env bash
# The Debian package holds the program, its data, manual, completions and pages, needs what the program needs, and what it
# unpacks to runs as the built program does.
#
#   package_test.bash CPACK SOURCE_FOLDER BUILD_FOLDER
set -u
cpack=$1 source=$2 build=$3
for tool in dpkg-deb dpkg-shlibdeps; do
  command -v $tool >/dev/null || { echo "no $tool: not Debian"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
status=0
fails() {
  printf 'FAILED: %s\n' "$*"
  status=1
}

"$cpack" --config "$build/CPackConfig.cmake" -B "$folder/made" -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip >"$folder/log" 2>&1 ||
  { cat "$folder/log"; exit 1; }
package=$(echo "$folder"/made/kernelwright_*.deb)
root=$folder/root
dpkg-deb -x "$package" "$root" || exit 1

field() { dpkg-deb -f "$package" "$1"; }
for needed in 'g++' binutils libc6 libstdc++6 libcurl4 libfmt9 libsqlite3-0 libseccomp2 libgomp1; do
  [[ ", $(field Depends)" == *", $needed"[,\ ]* ]] || fails "it does not depend on $needed: $(field Depends)"
done
for of_use in clang llvm python3-venv; do
  [[ ", $(field Recommends)," == *", $of_use,"* ]] || fails "it does not recommend $of_use: $(field Recommends)"
done
[[ $(field Architecture) == "$(dpkg --print-architecture)" ]] || fails "it is for $(field Architecture)"

# Beyond what install_test.bash looks at: the places of Debian.
for file in bin/kw libexec/kernelwright/kw-warden share/doc/kernelwright/{copyright,README.md,docs/index.md} \
  share/bash-completion/completions/kw share/zsh/vendor-completions/_kw share/kernelwright/include/kernelwright.h; do
  [[ -s $root/usr/$file ]] || fails "usr/$file is not in it"
done
outside=$(cd "$root" && find . -mindepth 1 -maxdepth 2 ! -path ./usr ! -path './usr/*') && [[ -z $outside ]] ||
  fails "it puts something outside of /usr: $outside"
not_roots=$(dpkg-deb -c "$package" | awk '$2 != "root/root" || $1 ~ /^-.......w/') && [[ -z $not_roots ]] ||
  fails "others may write, or own: $not_roots"
named=$(grep -rlF -- "$source" "$root") && fails "these name the source folder:" "$named"

python3 "$source/tests/sbom_test.py" "$source" "$root/usr/share/doc/kernelwright/sbom.cdx.json" "$root"/usr/bin/kw \
  "$root"/usr/libexec/kernelwright/kw-warden || fails "the SBOM"

manual=$root/usr/share/man/man1
for page in kw $("$build/bin/kw" __complete "" | sed 's/^/kw-/'); do
  [[ -s $manual/$page.1.gz ]] || { fails "there is no manual page $page"; continue; }
  command -v groff >/dev/null || continue
  said=$(gzip -dc "$manual/$page.1.gz" | groff -man -Tutf8 -ww -z 2>&1) && [[ -z $said ]] || fails "$page.1: $said"
done

built=$(cd / && env -i "$build/bin/kw" tasks) || fails "the built program ends with $?"
unpacked=$(cd / && env -i "$root/usr/bin/kw" tasks) || fails "the unpacked program ends with $?"
[[ $unpacked == "$built" ]] || fails "the unpacked program prints: $unpacked"
exit "$status"
