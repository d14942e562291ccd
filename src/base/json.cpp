#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <ostream>
#include <system_error>

namespace kw {
namespace {

// How many bytes the UTF-8 sequence at `text` has; 0 where it is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto follows = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xbf) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return text.empty() ? 0 : 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const unsigned low = first == 0xe0 ? 0xa0 : 0x80;   // no overlong forms
    const unsigned high = first == 0xed ? 0x9f : 0xbf;  // no surrogates
    return follows(1, low, high) && follows(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const unsigned low = first == 0xf0 ? 0x90 : 0x80;
    const unsigned high = first == 0xf4 ? 0x8f : 0xbf;  // nothing above U+10FFFF
    return follows(1, low, high) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

void append_utf8(std::string& text, unsigned code) {
  const auto add = [&](unsigned byte) { text.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xc0 | code >> 6);
    add(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    add(0xe0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3f));
    add(0x80 | (code & 0x3f));
  } else {
    add(0xf0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3f));
    add(0x80 | (code >> 6 & 0x3f));
    add(0x80 | (code & 0x3f));
  }
}

}  // namespace

class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
  }

  Json whole() {
    Json json = value(0);
    skip_space();
    if (at_ != text_.size()) fail("expected the end of the text");
    return json;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    const std::string_view before = text_.substr(0, at_);
    const auto line = 1 + std::ranges::count(before, '\n');
    const std::size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    throw JsonError(fmt::format("line {}, column {}: {}", line, at_ - line_start + 1, what));
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
      ++at_;
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char wanted) {
    skip_space();
    if (peek() != wanted || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  Json value(int depth) {
    if (depth > Json::kMostDepth) fail(fmt::format("nested more than {} deep", Json::kMostDepth));
    if (++values_ > Json::kMostValues) fail(fmt::format("more than {} values", Json::kMostValues));
    skip_space();
    if (at_ >= text_.size()) fail("the text ends where a value is expected");
    switch (peek()) {
      case '{':
        return object(depth);
      case '[':
        return array(depth);
      case '"':
        return Json(text());
      case 't':
        if (take_word("true")) return true;
        break;
      case 'f':
        if (take_word("false")) return false;
        break;
      case 'n':
        if (take_word("null")) return nullptr;
        break;
      default:
        if (peek() == '-' || (peek() >= '0' && peek() <= '9')) return number();
    }
    fail("expected a value");
  }

  Json object(int depth) {
    ++at_;
    Json json = Json::object();
    auto& entries = std::get<Json::Object>(json.value_);
    if (take('}')) return json;
    do {
      skip_space();
      if (peek() != '"') fail("expected a name in double quotes");
      std::string name = text();
      if (!take(':')) fail("expected ':'");
      Json one = value(depth + 1);
      entries.emplace_back(std::move(name), std::move(one));
    } while (take(','));
    if (!take('}')) fail("expected ',' or '}'");
    drop_earlier(entries);
    return json;
  }

  // Of entries with the same name the last value stays, at the place of the first.
  static void drop_earlier(Json::Object& entries) {
    std::vector<std::size_t> order(entries.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) -> const std::string& { return entries[i].first; });
    std::vector<bool> gone(entries.size(), false);
    for (std::size_t i = 1, first = 0; i < order.size(); ++i) {
      if (entries[order[i]].first != entries[order[first]].first) {
        first = i;
        continue;
      }
      entries[order[first]].second = std::move(entries[order[i]].second);
      gone[order[i]] = true;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (gone[i]) continue;
      if (kept != i) entries[kept] = std::move(entries[i]);
      ++kept;
    }
    entries.resize(kept);
  }

  Json array(int depth) {
    ++at_;
    Json json = Json::array();
    auto& list = std::get<Json::Array>(json.value_);
    if (take(']')) return json;
    do {
      list.push_back(value(depth + 1));
    } while (take(','));
    if (!take(']')) fail("expected ',' or ']'");
    return json;
  }

  unsigned hex4() {
    unsigned code = 0;
    if (text_.size() - at_ < 4) fail("expected four hexadecimal digits");
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, begin + 4, code, 16);
    if (error != std::errc() || end != begin + 4) fail("expected four hexadecimal digits");
    at_ += 4;
    return code;
  }

  std::string text() {
    ++at_;
    std::string result;
    for (;;) {
      // What needs no look goes over in one piece.
      const std::size_t begin = at_;
      while (at_ < text_.size() && text_[at_] >= ' ' && text_[at_] != '"' && text_[at_] != '\\' &&
             static_cast<unsigned char>(text_[at_]) < 0x80)
        ++at_;
      result.append(text_, begin, at_ - begin);
      if (at_ >= text_.size()) fail("a text without an end");
      const char next = text_[at_];
      if (next == '"') {
        ++at_;
        return result;
      }
      if (next == '\\') {
        ++at_;
        escape(result);
      } else if (static_cast<unsigned char>(next) < 0x20) {
        fail("a control character in a text");
      } else {
        const std::size_t length = utf8_length(text_.substr(at_, 4));
        if (length == 0) fail("bytes that are no UTF-8");
        result.append(text_, at_, length);
        at_ += length;
      }
    }
  }

  void escape(std::string& result) {
    constexpr std::string_view kLetters = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
    const char letter = peek();
    ++at_;
    if (letter != 'u') {
      const auto which = at_ > text_.size() ? std::string_view::npos : kLetters.find(letter);
      if (which == std::string_view::npos) fail("an unknown escape");
      result.push_back(kMeant[which]);
      return;
    }
    unsigned code = hex4();
    if (code >= 0xdc00 && code <= 0xdfff) fail("half of a surrogate pair");
    if (code >= 0xd800 && code <= 0xdbff) {
      if (!take_word("\\u")) fail("half of a surrogate pair");
      const unsigned low = hex4();
      if (low < 0xdc00 || low > 0xdfff) fail("half of a surrogate pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    append_utf8(result, code);
  }

  Json number() {
    const std::size_t begin = at_;
    const auto digits = [&] {
      const std::size_t first = at_;
      while (peek() >= '0' && peek() <= '9') ++at_;
      if (at_ == first) fail("expected a digit");
    };
    bool whole = true;
    const bool negative = peek() == '-';
    if (negative) ++at_;
    if (peek() == '0') {
      ++at_;
    } else {
      digits();
    }
    if (peek() == '.') {
      whole = false;
      ++at_;
      digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      whole = false;
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      digits();
    }
    const char* first = text_.data() + begin;
    const char* last = text_.data() + at_;
    if (whole && negative) {
      std::int64_t value = 0;
      if (std::from_chars(first, last, value).ec == std::errc()) return value;
    } else if (whole) {
      std::uint64_t value = 0;
      if (std::from_chars(first, last, value).ec == std::errc()) return value;
    }
    double value = 0;
    const std::errc error = std::from_chars(first, last, value).ec;
    if (error == std::errc()) return value;
    // Out of range: what is nearer to 0 than any double is 0, what is larger than all of them could not be given back.
    value = std::strtod(std::string(first, last).c_str(), nullptr);
    if (std::isinf(value)) fail("a number that is too large");
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t values_ = 0;
};

class JsonWriter {
 public:
  explicit JsonWriter(int indent) : indent_(indent) {}

  void write(const Json& json, int depth) {
    std::visit([&](const auto& value) { write_value(value, depth); }, json.value_);
  }
  std::string take() { return std::move(out_); }

 private:
  void write_value(std::monostate, int) { out_ += "null"; }
  void write_value(Json::Discarded, int) { out_ += "null"; }
  void write_value(bool value, int) { out_ += value ? "true" : "false"; }
  void write_value(std::int64_t value, int) { fmt::format_to(std::back_inserter(out_), "{}", value); }
  void write_value(std::uint64_t value, int) { fmt::format_to(std::back_inserter(out_), "{}", value); }
  void write_value(double value, int) { write_real(value); }
  void write_value(const std::string& value, int) { write_text(value); }

  void write_value(const Json::Array& list, int depth) {
    if (list.empty()) {
      out_ += "[]";
      return;
    }
    out_ += '[';
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0) out_ += ',';
      new_line(depth + 1);
      write(list[i], depth + 1);
    }
    new_line(depth);
    out_ += ']';
  }

  void write_value(const Json::Object& entries, int depth) {
    if (entries.empty()) {
      out_ += "{}";
      return;
    }
    out_ += '{';
    bool first = true;
    for (const auto& [name, value] : entries) {
      if (!first) out_ += ',';
      first = false;
      new_line(depth + 1);
      write_text(name);
      out_ += indent_ >= 0 ? ": " : ":";
      write(value, depth + 1);
    }
    new_line(depth);
    out_ += '}';
  }

  void new_line(int depth) {
    if (indent_ < 0) return;
    out_ += '\n';
    out_.append(static_cast<std::size_t>(indent_) * static_cast<std::size_t>(depth), ' ');
  }

  void write_text(std::string_view text) {
    out_ += '"';
    for (std::size_t i = 0; i < text.size();) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if (byte >= 0x80) {
        const std::size_t length = utf8_length(text.substr(i, 4));
        out_ += length == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(i, length);
        i += std::max<std::size_t>(length, 1);
        continue;
      }
      ++i;
      switch (byte) {
        case '"':
          out_ += "\\\"";
          break;
        case '\\':
          out_ += "\\\\";
          break;
        case '\n':
          out_ += "\\n";
          break;
        case '\r':
          out_ += "\\r";
          break;
        case '\t':
          out_ += "\\t";
          break;
        case '\b':
          out_ += "\\b";
          break;
        case '\f':
          out_ += "\\f";
          break;
        default:
          if (byte < 0x20) {
            fmt::format_to(std::back_inserter(out_), "\\u{:04x}", byte);
          } else {
            out_ += static_cast<char>(byte);
          }
      }
    }
    out_ += '"';
  }

  // The shortest digits that give the same number back; 12.0 keeps its ".0", so that it comes back as a real number.
  void write_real(double value) {
    if (!std::isfinite(value)) {
      out_ += "null";
      return;
    }
    char digits[64];
    const bool plain = value == 0 || (std::abs(value) >= 1e-4 && std::abs(value) < 1e15);
    const auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
    const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), value, format);
    const std::string_view text(digits, error == std::errc() ? end : digits);
    out_ += text;
    if (text.find_first_of(".e") == std::string_view::npos) out_ += ".0";
  }

  int indent_;
  std::string out_;
};

Json::Json() noexcept = default;
Json::Json(std::nullptr_t) noexcept {}
Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

void Json::set(bool value) { value_ = value; }
void Json::set(double value) { value_ = value; }
void Json::set(std::int64_t value) { value_ = value; }
void Json::set(std::uint64_t value) { value_ = value; }
Json::Json(std::string text) : value_(std::move(text)) {}
Json::Json(const std::vector<Json>& list) : value_(list) {}

Json::Json(std::initializer_list<Json> list) {
  const bool is_object = std::ranges::all_of(
      list, [](const Json& one) { return one.is_array() && one.size() == 2 && one.elements()[0].is_string(); });
  if (!is_object) {
    value_ = Array(list);
    return;
  }
  value_ = Object();
  for (const Json& one : list) {
    const Array& pair = one.elements();
    if (!contains(pair[0].text())) std::get<Object>(value_).emplace_back(pair[0].text(), pair[1]);
  }
}

Json Json::array() { return array({}); }
Json Json::array(std::initializer_list<Json> list) {
  Json json;
  json.value_ = Array(list);
  return json;
}
Json Json::object() {
  Json json;
  json.value_ = Object();
  return json;
}

Json Json::parse(std::string_view text) { return JsonReader(text).whole(); }

Json Json::parse_quietly(std::string_view text) {
  try {
    return parse(text);
  } catch (const JsonError&) {
    Json json;
    json.value_ = Discarded();
    return json;
  }
}

std::string Json::dump(int indent) const {
  JsonWriter writer(indent);
  writer.write(*this, 0);
  return writer.take();
}

bool Json::is_null() const { return std::holds_alternative<std::monostate>(value_); }
bool Json::is_boolean() const { return std::holds_alternative<bool>(value_); }
bool Json::is_number_float() const { return std::holds_alternative<double>(value_); }
bool Json::is_number_integer() const {
  return std::holds_alternative<std::int64_t>(value_) || std::holds_alternative<std::uint64_t>(value_);
}
bool Json::is_number() const { return is_number_integer() || is_number_float(); }
bool Json::is_string() const { return std::holds_alternative<std::string>(value_); }
bool Json::is_array() const { return std::holds_alternative<Array>(value_); }
bool Json::is_object() const { return std::holds_alternative<Object>(value_); }
bool Json::is_discarded() const { return std::holds_alternative<Discarded>(value_); }

std::size_t Json::size() const {
  if (const auto* list = std::get_if<Array>(&value_)) return list->size();
  if (const auto* entries = std::get_if<Object>(&value_)) return entries->size();
  return is_null() || is_discarded() ? 0 : 1;
}

const char* Json::kind() const {
  constexpr const char* kKinds[] = {"null",   "true or false", "a number",  "a number", "a number",
                                    "a text", "an array",      "an object", "no JSON"};
  return kKinds[value_.index()];
}

Json& Json::operator[](std::string_view name) {
  if (is_null()) value_ = Object();
  if (!is_object()) throw JsonError(fmt::format("\"{}\" is looked for in {}, not in an object", name, kind()));
  if (const Json* found = find(name)) return const_cast<Json&>(*found);
  return std::get<Object>(value_).emplace_back(std::string(name), Json()).second;
}

const Json& Json::at(std::string_view name) const {
  if (!is_object()) throw JsonError(fmt::format("\"{}\" is looked for in {}, not in an object", name, kind()));
  const Json* found = find(name);
  if (found == nullptr) throw JsonError(fmt::format("\"{}\" is missing", name));
  return *found;
}
Json& Json::at(std::string_view name) { return const_cast<Json&>(std::as_const(*this).at(name)); }

const Json* Json::find(std::string_view name) const {
  const auto* entries = std::get_if<Object>(&value_);
  if (entries == nullptr) return nullptr;
  const auto found = std::ranges::find(*entries, name, &Object::value_type::first);
  return found == entries->end() ? nullptr : &found->second;
}

std::size_t Json::erase(std::string_view name) {
  auto* entries = std::get_if<Object>(&value_);
  return entries == nullptr ? 0 : std::erase_if(*entries, [&](const auto& entry) { return entry.first == name; });
}

Json& Json::element(std::size_t index) {
  auto* list = std::get_if<Array>(&value_);
  if (list == nullptr) throw JsonError(fmt::format("element {} is looked for in {}, not in an array", index, kind()));
  if (index >= list->size()) throw JsonError(fmt::format("there is no element {}", index));
  return (*list)[index];
}

void Json::push_back(Json value) {
  if (is_null()) value_ = Array();
  auto* list = std::get_if<Array>(&value_);
  if (list == nullptr) throw JsonError(fmt::format("something is added to {}, not to an array", kind()));
  list->push_back(std::move(value));
}

const Json::Object& Json::items() const {
  static const Object kNone;
  if (is_null()) return kNone;
  if (!is_object()) throw JsonError(fmt::format("expected an object, found {}", kind()));
  return std::get<Object>(value_);
}
Json::Object& Json::items() {
  if (is_null()) value_ = Object();
  return const_cast<Object&>(std::as_const(*this).items());
}

Json::iterator Json::begin() {
  if (auto* list = std::get_if<Array>(&value_)) return {list->data(), nullptr};
  if (auto* entries = std::get_if<Object>(&value_)) return {nullptr, entries->data()};
  return {nullptr, nullptr};
}
Json::iterator Json::end() {
  if (auto* list = std::get_if<Array>(&value_)) return {list->data() + list->size(), nullptr};
  if (auto* entries = std::get_if<Object>(&value_)) return {nullptr, entries->data() + entries->size()};
  return {nullptr, nullptr};
}
Json::const_iterator Json::begin() const {
  if (const auto* list = std::get_if<Array>(&value_)) return {list->data(), nullptr};
  if (const auto* entries = std::get_if<Object>(&value_)) return {nullptr, entries->data()};
  return {nullptr, nullptr};
}
Json::const_iterator Json::end() const {
  if (const auto* list = std::get_if<Array>(&value_)) return {list->data() + list->size(), nullptr};
  if (const auto* entries = std::get_if<Object>(&value_)) return {nullptr, entries->data() + entries->size()};
  return {nullptr, nullptr};
}

const std::string& Json::text() const {
  if (!is_string()) throw JsonError(fmt::format("expected a text, found {}", kind()));
  return std::get<std::string>(value_);
}

bool Json::boolean() const {
  if (!is_boolean()) throw JsonError(fmt::format("expected true or false, found {}", kind()));
  return std::get<bool>(value_);
}

double Json::real() const {
  if (const auto* value = std::get_if<double>(&value_)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<std::uint64_t>(&value_)) return static_cast<double>(*value);
  throw JsonError(fmt::format("expected a number, found {}", kind()));
}

std::int64_t Json::integer() const {
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return *value;
  if (const auto* value = std::get_if<std::uint64_t>(&value_)) return static_cast<std::int64_t>(*value);
  if (const auto* value = std::get_if<double>(&value_)) {
    // A cast of anything else would be undefined.
    if (!(std::abs(*value) < 9.2e18)) throw JsonError("expected a whole number, found one that is too large");
    return static_cast<std::int64_t>(*value);
  }
  throw JsonError(fmt::format("expected a number, found {}", kind()));
}

std::int64_t Json::integer_between(std::int64_t low, std::int64_t high) const {
  const std::int64_t value = integer();
  if (value < low || value > high) throw JsonError("expected a whole number, found one that is too large");
  return value;
}

const Json::Array& Json::elements() const {
  if (!is_array()) throw JsonError(fmt::format("expected an array, found {}", kind()));
  return std::get<Array>(value_);
}

bool Json::equals(const Json& other) const {
  if (is_number() && other.is_number()) {
    if (is_number_float() || other.is_number_float()) return real() == other.real();
    const auto* a = std::get_if<std::int64_t>(&value_);
    const auto* b = std::get_if<std::int64_t>(&other.value_);
    // One that is negative is never the same as one that has no sign.
    if (a != nullptr && b == nullptr && *a < 0) return false;
    if (b != nullptr && a == nullptr && *b < 0) return false;
    return integer() == other.integer();
  }
  if (value_.index() != other.value_.index()) return false;
  if (is_array()) return std::get<Array>(value_) == std::get<Array>(other.value_);
  if (is_object()) {
    // The order of names means nothing.
    const auto& mine = std::get<Object>(value_);
    if (mine.size() != other.size()) return false;
    return std::ranges::all_of(mine, [&](const auto& entry) {
      const Json* theirs = other.find(entry.first);
      return theirs != nullptr && entry.second == *theirs;
    });
  }
  if (is_string()) return text() == other.text();
  if (is_boolean()) return std::get<bool>(value_) == std::get<bool>(other.value_);
  return !is_discarded();
}

std::ostream& operator<<(std::ostream& out, const Json& json) { return out << json.dump(); }

}  // namespace kw
