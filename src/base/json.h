// JSON as data: what the program reads from outside and prints for other programs.
//
// A type of our own, because a JSON library's templates were most of the time that this program took to compile. It is
// also the border for JSON from outside: text that is nested deeper than kMostDepth or is not valid UTF-8 is refused,
// and a value that is of another type than asked for is a JsonError that names both, never undefined behaviour.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace kw {

class JsonError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Json;

namespace json_detail {

template <class T>
inline constexpr bool kIsList = false;
template <class T>
inline constexpr bool kIsList<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsMap = false;
template <class T>
inline constexpr bool kIsMap<std::map<std::string, T>> = true;
template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <class T>
concept Number = std::is_arithmetic_v<T> && !std::same_as<T, char> && !std::same_as<T, wchar_t>;
template <class T>
concept Text = std::convertible_to<const T&, std::string_view> && !std::same_as<T, Json>;
// What a Json can be read as.
template <class T>
concept Readable = Number<T> || std::same_as<T, std::string> || kIsList<T> || kIsMap<T>;

}  // namespace json_detail

class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;  // in the order of their first mention
  static constexpr int kMostDepth = 200;
  // A value takes some twenty times the memory of the text "0,": text with more values than these is refused.
  static constexpr std::size_t kMostValues = 4'000'000;

  Json() noexcept;
  Json(std::nullptr_t) noexcept;
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  template <json_detail::Number T>
  Json(T value) : Json() {
    if constexpr (std::same_as<T, bool>) {
      set(value);
    } else if constexpr (std::floating_point<T>) {
      set(static_cast<double>(value));
    } else if constexpr (std::signed_integral<T>) {
      set(static_cast<std::int64_t>(value));
    } else {
      set(static_cast<std::uint64_t>(value));
    }
  }
  Json(std::string text);
  template <json_detail::Text T>
  Json(const T& text) : Json(std::string(std::string_view(text))) {}
  template <class T>
  requires(!std::same_as<T, Json>) Json(const std::vector<T>& list) : Json(array()) {
    for (const auto& one : list) push_back(Json(static_cast<const T&>(one)));
  }
  Json(const std::vector<Json>& list);
  template <class T>
  Json(const std::map<std::string, T>& map) : Json(object()) {
    for (const auto& [name, one] : map) (*this)[name] = Json(one);
  }
  template <class T>
  Json(const std::optional<T>& value) : Json() {
    if (value) *this = Json(*value);
  }
  // {{"a", 1}, {"b", 2}} is an object: all are pairs that begin with a text. Anything else is an array.
  Json(std::initializer_list<Json> list);

  static Json array();
  static Json array(std::initializer_list<Json> list);
  static Json object();

  // Throws a JsonError that says where and what.
  static Json parse(std::string_view text);
  // Text that is no JSON gives a value that is_discarded().
  static Json parse_quietly(std::string_view text);

  // In one line, or indented. Bytes that are no UTF-8 come out as U+FFFD, numbers that are not finite as null.
  std::string dump(int indent = -1) const;

  bool is_null() const;
  bool is_boolean() const;
  bool is_number() const;
  bool is_number_integer() const;
  bool is_number_float() const;
  bool is_string() const;
  bool is_array() const;
  bool is_object() const;
  bool is_discarded() const;

  std::size_t size() const;  // of an array or object; of null 0, of anything else 1
  bool empty() const { return size() == 0; }

  // By name: null becomes an object, a name that is missing is added. Of a constant, a missing name is a JsonError.
  Json& operator[](std::string_view name);
  const Json& operator[](std::string_view name) const { return at(name); }
  Json& operator[](const char* name) { return (*this)[std::string_view(name)]; }
  const Json& operator[](const char* name) const { return at(std::string_view(name)); }
  Json& operator[](const std::string& name) { return (*this)[std::string_view(name)]; }
  const Json& operator[](const std::string& name) const { return at(std::string_view(name)); }
  Json& at(std::string_view name);
  const Json& at(std::string_view name) const;
  Json& at(const char* name) { return at(std::string_view(name)); }
  const Json& at(const char* name) const { return at(std::string_view(name)); }
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  const Json* find(std::string_view name) const;  // null where this is no object or has no such name
  std::size_t erase(std::string_view name);

  // By place.
  template <std::integral I>
  Json& operator[](I index) {
    return at(index);
  }
  template <std::integral I>
  const Json& operator[](I index) const {
    return at(index);
  }
  template <std::integral I>
  Json& at(I index) {
    return element(static_cast<std::size_t>(index));
  }
  template <std::integral I>
  const Json& at(I index) const {
    return const_cast<Json*>(this)->element(static_cast<std::size_t>(index));
  }
  Json& front() { return at(0); }
  const Json& front() const { return at(0); }
  Json& back() { return at(size() - 1); }
  const Json& back() const { return at(size() - 1); }
  void push_back(Json value);  // null becomes an array
  void emplace_back(Json value) { push_back(std::move(value)); }

  // For `for (const auto& [name, value] : json.items())`; of null nothing.
  Object& items();
  const Object& items() const;

  // The elements of an array, or the values of an object.
  template <class Value, class Entry>
  class Iterator {
   public:
    using value_type = Json;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    Iterator(Value* value, Entry* entry) : value_(value), entry_(entry) {}
    Value& operator*() const { return entry_ != nullptr ? entry_->second : *value_; }
    Value* operator->() const { return &**this; }
    Iterator& operator++() {
      entry_ != nullptr ? static_cast<void>(++entry_) : static_cast<void>(++value_);
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator&) const = default;

   private:
    Value* value_ = nullptr;
    Entry* entry_ = nullptr;
  };
  using iterator = Iterator<Json, std::pair<std::string, Json>>;
  using const_iterator = Iterator<const Json, const std::pair<std::string, Json>>;
  iterator begin();
  iterator end();
  const_iterator begin() const;
  const_iterator end() const;

  // As a number, a text, or a container of them. Numbers become each other; anything else must be what is asked for.
  template <class T>
  requires json_detail::Readable<T> T get()
  const {
    if constexpr (std::same_as<T, bool>) {
      return boolean();
    } else if constexpr (std::floating_point<T>) {
      return static_cast<T>(real());
    } else if constexpr (std::integral<T>) {
      return static_cast<T>(sizeof(T) < sizeof(std::int64_t)
                                ? integer_between(static_cast<std::int64_t>(std::numeric_limits<T>::min()),
                                                  static_cast<std::int64_t>(std::numeric_limits<T>::max()))
                                : integer());
    } else if constexpr (std::same_as<T, std::string>) {
      return text();
    } else if constexpr (json_detail::kIsList<T>) {
      T list;
      for (const Json& one : elements()) list.push_back(one.get<typename T::value_type>());
      return list;
    } else {
      T map;
      for (const auto& entry : items()) map[entry.first] = entry.second.template get<typename T::mapped_type>();
      return map;
    }
  }
  template <class T>
  requires std::same_as<T, Json>
  const Json& get() const { return *this; }
  template <class T>
  requires json_detail::Readable<T>
  operator T() const { return get<T>(); }
  const std::string& text() const;

  // The value of this name, or another where there is none.
  template <class T>
  T value(std::string_view name, const T& otherwise) const {
    const Json* found = find(name);
    return found == nullptr ? otherwise : T(found->get<T>());
  }
  std::string value(std::string_view name, const char* otherwise) const { return value(name, std::string(otherwise)); }

  friend bool operator==(const Json& a, const Json& b) { return a.equals(b); }
  template <class T>
  requires(!std::same_as<T, Json> && std::convertible_to<const T&, Json>) friend bool operator==(const Json& a,
                                                                                                 const T& b) {
    return a.equals(Json(b));
  }
  friend std::ostream& operator<<(std::ostream& out, const Json& json);

 private:
  struct Discarded {};

  void set(bool value);
  void set(double value);
  void set(std::int64_t value);
  void set(std::uint64_t value);
  bool equals(const Json& other) const;
  bool boolean() const;
  double real() const;
  std::int64_t integer() const;
  std::int64_t integer_between(std::int64_t low, std::int64_t high) const;
  const Array& elements() const;
  Json& element(std::size_t index);
  const char* kind() const;

  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Array, Object, Discarded> value_;

  friend class JsonReader;
  friend class JsonWriter;
};

}  // namespace kw
