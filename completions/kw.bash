# Completion of kw for bash, with or without the package bash-completion. For a copy that is not installed:
#   source completions/kw.bash
#
# The program knows what fits: `kw __complete WORD...` prints the candidates for the last word, one a line; the line
# ":files" asks for the names of files as well.

# Bash cuts words at ':' and '=' too, but "model.onnx:Conv_3" is one word to kw: sets `words` to the words before the
# cursor: the program, ..., the word to complete.
_kw_words() {
  local rest=${COMP_LINE:0:COMP_POINT} part stripped i
  words=()
  for ((i = 0; i <= COMP_CWORD; ++i)); do
    stripped=${rest#"${rest%%[![:space:]]*}"}
    part=${COMP_WORDS[i]}
    [[ $stripped == "$part"* ]] || part=$stripped # the cursor stands inside the word
    if [[ $stripped == "$rest" && $i -gt 0 ]]; then
      words[-1]+=$part
    else
      words+=("$part")
    fi
    rest=${stripped#"$part"}
  done
  words=("${words[@]//[\\\"\']/}") # as typed; kw wants them without the quoting
}

_kw() {
  local -a words
  _kw_words
  local program=${words[0]/#\~\//$HOME/} current=${words[-1]} candidate
  # Readline replaces only what follows the last cut.
  local kept=${current%"${current##*[:=]}"}

  COMPREPLY=()
  while IFS= read -r candidate; do
    if [[ $candidate == :files ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r candidate; do COMPREPLY+=("$candidate"); done < <(compgen -f -- "${current#"$kept"}")
    elif [[ $candidate == "$current"* ]]; then
      COMPREPLY+=("${candidate#"$kept"}")
      [[ $candidate == *[:=/] ]] && compopt -o nospace 2>/dev/null
    fi
  done < <("$program" __complete "${words[@]:1}" 2>/dev/null)
}

complete -F _kw kw ./kw
