// As much of JSON as kw's commands to a framework's process need: what kw writes is read, and answers are written.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace kw::native {

// A number, a text, a list, or an object as a list of names and values.
struct Value {
  double number = 0;
  std::string text;
  std::vector<Value> items;
  std::vector<std::string> names;

  // Of an object; one that is not there is empty.
  const Value& operator[](const char* name) const {
    static const Value* const none = new Value();
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) return items[i];
    }
    return *none;
  }
  std::size_t size() const { return items.size(); }
  std::int64_t whole() const { return static_cast<std::int64_t>(number); }
  std::vector<std::int64_t> wholes() const {
    std::vector<std::int64_t> all;
    for (const Value& one : items) all.push_back(one.whole());
    return all;
  }
  std::vector<std::string> texts() const {
    std::vector<std::string> all;
    for (const Value& one : items) all.push_back(one.text);
    return all;
  }
};

class Reader {
 public:
  explicit Reader(const std::string& text) : at_(text.c_str()) {}

  Value next() {
    Value value;
    skip();
    if (*at_ == '{' || *at_ == '[') {
      const bool object = *at_++ == '{';
      for (skip(); *at_ != '\0' && *at_ != '}' && *at_ != ']'; skip()) {
        if (object) {
          value.names.push_back(text());
          skip();
          if (*at_ == ':') ++at_;
        }
        value.items.push_back(next());
        skip();
        if (*at_ == ',') ++at_;
      }
      if (*at_ != '\0') ++at_;
    } else if (*at_ == '"') {
      value.text = text();
    } else {
      char* end = nullptr;
      value.number = std::strtod(at_, &end);
      // A word, or nothing that is JSON: passed over.
      if (end == at_) {
        while (*end >= 'a' && *end <= 'z') ++end;
        if (end == at_ && *end != '\0') ++end;
      }
      at_ = end;
    }
    return value;
  }

 private:
  void skip() {
    while (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r') ++at_;
  }

  std::string text() {
    std::string made;
    if (*at_ == '"') ++at_;
    while (*at_ != '\0' && *at_ != '"') {
      if (*at_ != '\\') {
        made += *at_++;
        continue;
      }
      const char sign = *++at_;
      if (sign == '\0') break;
      ++at_;
      if (sign == 'u') {
        append_code(made);
      } else {
        const char* place = std::strchr("n\nt\tr\rb\bf\f", sign);
        made += place != nullptr ? place[1] : sign;
      }
    }
    if (*at_ == '"') ++at_;
    return made;
  }

  // Four hexadecimal digits, as UTF-8.
  void append_code(std::string& made) {
    char digits[5] = {};
    for (int i = 0; i < 4 && *at_ != '\0'; ++i) digits[i] = *at_++;
    const unsigned long code = std::strtoul(digits, nullptr, 16);
    if (code < 0x80) {
      made += static_cast<char>(code);
    } else if (code < 0x800) {
      made += static_cast<char>(0xc0 | code >> 6);
      made += static_cast<char>(0x80 | (code & 0x3f));
    } else {
      made += static_cast<char>(0xe0 | code >> 12);
      made += static_cast<char>(0x80 | (code >> 6 & 0x3f));
      made += static_cast<char>(0x80 | (code & 0x3f));
    }
  }

  const char* at_;
};

inline std::string quoted(const std::string& text) {
  std::string made = "\"";
  for (const char sign : text) {
    if (sign == '"' || sign == '\\') made += '\\';
    if (static_cast<unsigned char>(sign) >= 0x20) made += sign;
  }
  return made + "\"";
}

inline std::string decimal(double number) {
  char text[40];
  std::snprintf(text, sizeof text, "%.0f", number);
  return text;
}

inline std::string list_of(const std::vector<std::int64_t>& numbers) {
  std::string made = "[";
  for (const std::int64_t one : numbers) {
    if (made.size() > 1) made += ",";
    made += decimal(static_cast<double>(one));
  }
  return made + "]";
}

}  // namespace kw::native
