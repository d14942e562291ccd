// An operator's attributes by name. Numbers are held wide: ONNX's int is int64, its float (32 bits) a double that was
// rounded to float32 once.
#pragma once

#include <cassert>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/tensor.h"

namespace kw {

using Attribute = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                               std::vector<std::string>, Tensor>;

// The order of Attribute's alternatives.
enum class AttributeKind { integer, real, text, integers, reals, texts, tensor };

std::string_view name_of(AttributeKind kind);
inline AttributeKind kind_of(const Attribute& attribute) { return static_cast<AttributeKind>(attribute.index()); }
std::string text_of(const Attribute& attribute);  // as it is written in a suite: 3, 0.5, "avg", [1, 1]

class Attributes {
 public:
  // Not inline: nearly every source copies tasks, which hold these, and would compile the tree's functions again.
  Attributes();
  Attributes(const Attributes& other);
  Attributes(Attributes&& other) noexcept;
  Attributes& operator=(const Attributes& other);
  Attributes& operator=(Attributes&& other) noexcept;
  ~Attributes();

  bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
  void set(std::string name, Attribute value);
  void remove(const std::string& name);

  // The attribute must be there and of this kind: the operator's specification has been checked by then.
  std::int64_t integer(std::string_view name) const { return get<std::int64_t>(name); }
  double real(std::string_view name) const { return get<double>(name); }
  const std::string& text(std::string_view name) const { return get<std::string>(name); }
  const std::vector<std::int64_t>& integers(std::string_view name) const {
    return get<std::vector<std::int64_t>>(name);
  }
  const std::vector<double>& reals(std::string_view name) const { return get<std::vector<double>>(name); }
  const std::vector<std::string>& texts(std::string_view name) const { return get<std::vector<std::string>>(name); }
  const Tensor& tensor(std::string_view name) const { return get<Tensor>(name); }

  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  bool empty() const { return values_.empty(); }

 private:
  template <class T>
  const T& get(std::string_view name) const {
    const auto found = values_.find(name);
    assert(found != values_.end() && std::holds_alternative<T>(found->second));
    return *std::get_if<T>(&found->second);
  }

  std::map<std::string, Attribute, std::less<>> values_;
};

}  // namespace kw
