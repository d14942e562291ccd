#include "base/terminal.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

namespace kw {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: no UTF-8
  bool cut_off = false;   // may become a character when more comes
};

Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead < 0xc2 || lead > 0xf4 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (length == 0) return {};
  std::uint32_t code = lead & (0x7f >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (i == text.size()) return {.cut_off = true};
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  const std::uint32_t least = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  if (code < least || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
  return {code, length};
}

// What a terminal obeys, or what changes the order in which a text is shown.
bool is_obeyed(std::uint32_t code) {
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return true;
  if (code == 0x61c || code == 0x200e || code == 0x200f || code == 0x2028 || code == 0x2029) return true;
  return (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

// Of `text` all but a last character that is cut off, whose bytes are left in `rest`.
std::string fit(std::string_view text, bool in_one_line, std::string_view& rest) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character one = first_of(text);
    if (one.cut_off) break;
    if (one.bytes == 0) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if (!in_one_line && (one.code == '\n' || one.code == '\t')) {
      result += text[0];
    } else if (one.code == '\n') {
      result += "\\n";
    } else if (one.code == '\t') {
      result += "\\t";
    } else if (is_obeyed(one.code)) {
      // As JSON escapes it, so that JSON stays what it was.
      result += fmt::format("\\u{:04x}", one.code);
    } else {
      result += text.substr(0, one.bytes);
    }
    text.remove_prefix(one.bytes == 0 ? 1 : one.bytes);
  }
  rest = text;
  return result;
}

std::string fit_whole(std::string_view text, bool in_one_line) {
  std::string_view rest;
  std::string result = fit(text, in_one_line, rest);
  for (const char c : rest) result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return result;
}

}  // namespace

std::string fit_for_terminal(std::string_view text) { return fit_whole(text, false); }
std::string fit_for_a_line(std::string_view name) { return fit_whole(name, true); }

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) return std::string(text);
  const auto is_control = [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; };
  const bool controls = std::ranges::any_of(text, is_control);  // shown as escapes, which takes bash's other quotes
  std::string word = controls ? "$'" : "'";
  for (const char c : text) {
    if (is_control(c)) {
      word += fmt::format("\\{:03o}", static_cast<int>(c));
    } else if (controls && (c == '\'' || c == '\\')) {
      word += {'\\', c};
    } else if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + "'";
}

TerminalBuffer::~TerminalBuffer() { flush_part(); }

bool TerminalBuffer::pass_on(std::string_view text) {
  std::string joined;
  if (!part_.empty()) {
    joined = part_ + std::string(text);
    text = joined;
  }
  std::string_view rest;
  const std::string fitting = fit(text, false, rest);
  part_ = std::string(rest);
  return to_.sputn(fitting.data(), static_cast<std::streamsize>(fitting.size())) ==
         static_cast<std::streamsize>(fitting.size());
}

bool TerminalBuffer::flush_part() {
  const std::string text = fit_for_terminal(part_);
  part_.clear();
  return to_.sputn(text.data(), static_cast<std::streamsize>(text.size())) == static_cast<std::streamsize>(text.size());
}

int TerminalBuffer::overflow(int character) {
  if (character == traits_type::eof()) return 0;
  const char c = traits_type::to_char_type(character);
  return pass_on({&c, 1}) ? character : traits_type::eof();
}

std::streamsize TerminalBuffer::xsputn(const char* text, std::streamsize count) {
  return pass_on({text, static_cast<std::size_t>(count)}) ? count : 0;
}

int TerminalBuffer::sync() { return to_.pubsync(); }

std::streambuf* exact_buffer(std::ostream& out) {
  auto* buffer = dynamic_cast<TerminalBuffer*>(out.rdbuf());
  if (buffer == nullptr || buffer->is_terminal_) return out.rdbuf();
  buffer->flush_part();
  return &buffer->to_;
}

}  // namespace kw
