// Operational failures (a file, a network, a user's input) travel as values.
//
// A function that can fail so returns Result<T>; its Error says what was wrong, where, and what to do. Candidate
// failures are Verdicts, not Errors; our own bugs are asserts.
#pragma once

#include <fmt/core.h>

#include <cassert>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace kw {

struct Error {
  std::string message;
};

template <class... Args>
Error fail(fmt::format_string<Args...> format, Args&&... args) {
  return Error{fmt::format(format, std::forward<Args>(args)...)};
}

// A value or an Error in one place. By hand, because std::variant<T, Error> takes four times as long to compile, and
// nearly every function of this program returns one of these.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : ok_(true), value_(std::move(value)) {}
  Result(Error error) : ok_(false), error_(std::move(error)) {}
  Result(Result&& other) noexcept : ok_(other.ok_) {
    if (ok_) {
      new (&value_) T(std::move(other.value_));
    } else {
      new (&error_) Error(std::move(other.error_));
    }
  }
  Result(const Result& other) requires std::is_copy_constructible_v<T> : ok_(other.ok_) {
    if (ok_) {
      new (&value_) T(other.value_);
    } else {
      new (&error_) Error(other.error_);
    }
  }
  Result& operator=(Result&& other) noexcept {
    if (this != &other) {
      this->~Result();
      new (this) Result(std::move(other));
    }
    return *this;
  }
  Result& operator=(const Result& other) requires std::is_copy_constructible_v<T> { return *this = Result(other); }
  ~Result() {
    if (ok_) {
      value_.~T();
    } else {
      error_.~Error();
    }
  }

  bool ok() const { return ok_; }
  explicit operator bool() const { return ok(); }

  T& value() & { return checked(); }
  const T& value() const& { return const_cast<Result*>(this)->checked(); }
  // By value, so that `for (x : *f())` keeps what it walks over.
  T value() && { return std::move(checked()); }
  T& operator*() & { return checked(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(checked()); }
  T* operator->() { return &checked(); }
  const T* operator->() const { return &value(); }

  const Error& error() const {
    assert(!ok());
    return error_;
  }

 private:
  T& checked() {
    assert(ok());
    return value_;
  }

  bool ok_;
  union {
    T value_;      // where ok_
    Error error_;  // else
  };
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    assert(error_);
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

// Puts the place in front of a message that was made without knowing it.
inline Error at(const std::string& place, const Error& error) { return Error{place + ": " + error.message}; }

}  // namespace kw

// Declares a variable from a Result, or returns its Error from the enclosing function:
//   KW_TRY(const Shape shape, read_shape(text));
#define KW_TRY_JOIN2(a, b) a##b
#define KW_TRY_JOIN(a, b) KW_TRY_JOIN2(a, b)
#define KW_TRY(declaration, expression)                                                    \
  auto KW_TRY_JOIN(kw_try_, __LINE__) = (expression);                                      \
  if (!KW_TRY_JOIN(kw_try_, __LINE__).ok()) return KW_TRY_JOIN(kw_try_, __LINE__).error(); \
  declaration = *std::move(KW_TRY_JOIN(kw_try_, __LINE__))
#define KW_CHECK(expression)                                                   \
  do {                                                                         \
    if (auto kw_check = (expression); !kw_check.ok()) return kw_check.error(); \
  } while (false)
