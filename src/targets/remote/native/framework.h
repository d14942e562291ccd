// What a framework's native library has to do for kw, as rivals/shared/worker.py says it of Python's: all but `run` is
// outside of the time.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace kw::native {

using Shape = std::vector<std::int64_t>;

inline std::int64_t product(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t length : shape) count *= length;
  return count;
}

// A tensor of a call, in memory that is shared with kw.
struct Array {
  std::string dtype;
  Shape shape;
  char* data = nullptr;

  std::int64_t count() const { return product(shape); }
  // By the digits of its name: float32.
  std::int64_t element_bytes() const {
    const std::size_t digit = dtype.find_first_of("0123456789");
    return digit == std::string::npos ? 1 : std::strtol(dtype.c_str() + digit, nullptr, 10) / 8;
  }
  std::int64_t bytes() const { return count() * element_bytes(); }
};

struct Call {
  std::vector<Array> inputs, outputs;
};

struct Load {
  std::string model, setting;
  int threads = 1;
  std::vector<std::string> inputs, outputs;
};

// A function that returns a text returns why it could not; empty: it could.
class Framework {
 public:
  virtual ~Framework() = default;

  virtual std::string open(void* library) = 0;
  virtual std::string version() = 0;
  virtual std::vector<std::string> settings() = 0;
  virtual std::string load(const Load& load) = 0;
  // All calls, once.
  virtual std::string bind(const std::vector<Call>& calls) = 0;
  virtual std::string feed(std::size_t call) = 0;
  virtual void run(std::size_t call) = 0;
  // The outputs to their places, and their shapes; empty: as declared.
  virtual std::string fetch(std::size_t call, std::vector<Shape>& shapes) = 0;
};

// A function of a library, by its symbol.
class Symbols {
 public:
  explicit Symbols(void* library) : library_(library) {}

  template <class Function>
  void find(Function& function, const char* name) {
    void* found = ::dlsym(library_, name);
    if (found == nullptr && missing_.empty()) missing_ = name;
    __builtin_memcpy(&function, &found, sizeof found);
  }
  // The first that was not there.
  std::string missing() const { return missing_.empty() ? std::string() : "the library has no function " + missing_; }

 private:
  void* library_;
  std::string missing_;
};

}  // namespace kw::native
