// Sources on the page: C++ with its words told apart, and differences between two versions.
"use strict";

const KEYWORDS = new Set(("alignas alignof asm auto break case catch class concept const consteval constexpr constinit const_cast continue " +
  "co_await co_return co_yield decltype default delete do dynamic_cast else enum explicit export extern false final for friend goto if " +
  "inline mutable namespace new noexcept nullptr operator override private protected public register reinterpret_cast requires restrict " +
  "return sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename union " +
  "using virtual volatile while __restrict __restrict__ __attribute__").split(" "));
const TYPES = new Set(("bool char char8_t char16_t char32_t double float int long short signed unsigned void wchar_t size_t ssize_t " +
  "ptrdiff_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t __m128 __m128i __m128d __m256 __m256i " +
  "__m256d __m512 __m512i __m512d string vector array span Tensor Node").split(" "));

// One alternative a kind of piece, in this order: comments, raw strings, strings, characters, directives, numbers, words.
const PIECES = new RegExp([
  /(?<comment>\/\/(?:[^\n\\]|\\[\s\S])*|\/\*[\s\S]*?(?:\*\/|$))/,
  /(?<raw>\b(?:u8|[uUL])?R"(?<mark>[^()\\\s]{0,16})\((?:[\s\S]*?)(?:\)\k<mark>"|$))/,
  /(?<string>"(?:[^"\\\n]|\\[\s\S])*"?|'(?:[^'\\\n]|\\.)+'?)/,
  /(?<directive>^[ \t]*#[ \t]*\w+)/,
  /(?<number>\b(?:0[xX][\da-fA-F'.]+(?:[pP][+-]?\d+)?|0[bB][01']+|(?:\d[\d']*\.?[\d']*|\.\d[\d']*)(?:[eE][+-]?\d+)?)[a-zA-Z_]*)/,
  /(?<word>[A-Za-z_]\w*)/,
].map((one) => one.source).join("|"), "gm");

// [[class or "", text], ...]; joined, the texts are the source.
function piecesOf(source) {
  const pieces = [];
  let end = 0;
  for (const match of source.matchAll(PIECES)) {
    if (match.index > end) pieces.push(["", source.slice(end, match.index)]);
    const group = match.groups;
    let kind = "";
    if (group.comment !== undefined) kind = "c";
    else if (group.raw !== undefined || group.string !== undefined) kind = "s";
    else if (group.directive !== undefined) kind = "d";
    else if (group.number !== undefined) kind = "n";
    else if (KEYWORDS.has(match[0])) kind = "k";
    else if (TYPES.has(match[0])) kind = "t";
    else if (/^(KW_|_mm)/.test(match[0])) kind = "d";
    pieces.push([kind, match[0]]);
    end = match.index + match[0].length;
  }
  if (end < source.length) pieces.push(["", source.slice(end)]);
  return pieces;
}

// A <pre> with a block for each line, so that lines can be numbered and long ones scroll.
function highlighted(source) {
  const pre = element("pre", {class: "code", tabindex: "0", role: "region", "aria-label": "Source"});
  let line = element("span", {class: "line"});
  for (const [kind, text] of piecesOf(source.replace(/\n$/, ""))) {
    text.split("\n").forEach((part, i) => {
      if (i > 0) {
        line.append("\n");
        pre.append(line);
        line = element("span", {class: "line"});
      }
      if (part) line.append(kind ? element("span", {class: kind}, part) : part);
    });
  }
  pre.append(line);
  return pre;
}

// Lines as the report's data has them: "+new", "-old", " same", "@..." where lines were left out.
function differenceView(lines) {
  const classes = {"+": "line add", "-": "line del", "@": "line gap", " ": "line"};
  return element("pre", {class: "difference", tabindex: "0", role: "region", "aria-label": "Difference"},
    lines.map((line) => element("span", {class: classes[line[0]] || "line"}, (line[0] === "@" ? line.slice(1) : line) + "\n")));
}

function copyButton(text) {
  return element("button", {type: "button", onclick: async (event) => {
    const button = event.currentTarget;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "The browser does not allow it";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  }}, "Copy");
}
