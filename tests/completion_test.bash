#!/usr/bin/env bash
# Drives the completion scripts as the shells would, with a program that answers in the protocol of `kw __complete`.
#   completion_test.bash FOLDER_OF_COMPLETIONS
set -u
completions=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

mkdir "$folder/bin with space"
kw="$folder/bin with space/kw"
cat >"$kw" <<'PROGRAM'
#!/bin/bash
# Candidates by the word before; what it was asked is kept beside it.
[[ $1 == __complete ]] || exit 1
shift
printf '<%s>' "$@" >"${0%/*}/asked"
case ${*: -2:1} in
  show) printf '%s\n' Softmax Softplus model.onnx:Conv_1 model.onnx:Conv_2 ;;
  --onnx) echo :files ;;
  *) printf '%s\n' show tasks --suite= ;;
esac
PROGRAM
chmod +x "$kw"
touch "$folder/model a.onnx" "$folder/model b.onnx"
cd "$folder" || exit 1

expect() { # WHAT GOT WANTED
  [[ $2 == "$3" ]] && return
  printf 'FAILED %s\n  got    %s\n  wanted %s\n' "$1" "$2" "$3"
  failures=$((failures + 1))
}

typed=${kw// /\\ }

# What bash offers after the program and LINE, cut into words as bash does it: "A B C".
bash_offers() { # LINE WORD...
  bash --norc -c '
    source "$1"; COMP_LINE="$2 $3"; COMP_POINT=${#COMP_LINE}
    COMP_WORDS=("$2" "${@:4}"); COMP_CWORD=$(($# - 3))
    _kw; echo "${COMPREPLY[*]}"' - "$completions/kw.bash" "$typed" "$@"
}
expect "bash: commands" "$(bash_offers 's' s)" "show"
expect "bash: all commands" "$(bash_offers '' '')" "show tasks --suite="
expect "bash: tasks" "$(bash_offers 'show Soft' show Soft)" "Softmax Softplus"
expect "bash: words cut at a colon" "$(bash_offers 'show model.onnx:Co' show model.onnx : Co)" "Conv_1 Conv_2"
expect "bash: asks with the whole word" "$(cat "${kw%/*}/asked")" "<show><model.onnx:Co>"
expect "bash: right after the colon" "$(bash_offers 'show model.onnx:' show model.onnx :)" "Conv_1 Conv_2"
expect "bash: files" "$(bash_offers 'tasks --onnx mod' tasks --onnx mod | sed 's/model a.onnx model b.onnx\|model b.onnx model a.onnx/both/')" both
expect "bash: no program" "$(typed=$folder/none bash_offers s s)" ""
expect "bash: registered" "$(bash --norc -c 'source "$1"; complete -p kw ./kw' - "$completions/kw.bash")" \
  $'complete -F _kw kw\ncomplete -F _kw ./kw'

# What zsh offers; compadd and _files only say what they were given.
zsh_offers() { # WORD...
  zsh -f -c '
    compdef() { registered="$*" }
    source $1; shift
    compadd() { [[ $1 == -S ]] && { print -n "open:"; shift 2 }; print -rn -- "${(P)2} " }
    _files() { print -n "files " }
    words=("$@"); CURRENT=$#; PREFIX=${@[-1]}
    _kw; print $registered' - "$completions/_kw" "$@"
}
expect "zsh: commands" "$(zsh_offers "$typed" s)" "show tasks open:--suite= _kw kw"
expect "zsh: tasks" "$(zsh_offers "$typed" show model.onnx:Co)" \
  "Softmax Softplus model.onnx:Conv_1 model.onnx:Conv_2 _kw kw"
expect "zsh: asks with the whole word" "$(cat "${kw%/*}/asked")" "<show><model.onnx:Co>"
expect "zsh: files" "$(zsh_offers "$typed" tasks --onnx '')" "files _kw kw"

exit $((failures > 0))
