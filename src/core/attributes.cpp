#include "core/attributes.h"

#include <array>
#include <type_traits>

namespace kw {
namespace {

std::string written(std::int64_t value) { return std::to_string(value); }
// The shortest text that reads back as the same float32.
std::string written(double value) { return fmt::format("{}", static_cast<float>(value)); }
std::string written(const std::string& value) { return '"' + value + '"'; }
std::string written(const Tensor& value) { return value.type().text(); }

template <class T>
std::string written(const std::vector<T>& values) {
  std::string result = "[";
  for (const T& value : values) result += (result.size() > 1 ? ", " : "") + written(value);
  return result + "]";
}

}  // namespace

Attributes::Attributes() = default;
Attributes::Attributes(const Attributes& other) = default;
Attributes::Attributes(Attributes&& other) noexcept = default;
Attributes& Attributes::operator=(const Attributes& other) = default;
Attributes& Attributes::operator=(Attributes&& other) noexcept = default;
Attributes::~Attributes() = default;

void Attributes::set(std::string name, Attribute value) { values_.insert_or_assign(std::move(name), std::move(value)); }
void Attributes::remove(const std::string& name) { values_.erase(name); }

std::string_view name_of(AttributeKind kind) {
  constexpr std::array<std::string_view, 7> kNames{"integer", "real", "text", "integers", "reals", "texts", "tensor"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string text_of(const Attribute& attribute) {
  return std::visit([](const auto& value) { return written(value); }, attribute);
}

}  // namespace kw
