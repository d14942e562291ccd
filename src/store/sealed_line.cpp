#include "store/sealed_line.h"

#include "store/seal.h"

namespace kw::store {
namespace {

constexpr char kSeal[] = "seal";

std::string content_of_line(std::string_view kind, const Json& line) {
  return "line;" + parts_joined({kind, line.dump()});
}

}  // namespace

std::string sealed_line(std::string_view kind, Json line) {
  line[kSeal] = seal_of(content_of_line(kind, line));
  return line.dump() + "\n";
}

std::optional<Json> own_line(std::string_view kind, std::string_view text) {
  Json line = Json::parse_quietly(text);
  const Json* seal = line.find(kSeal);
  if (seal == nullptr || !seal->is_string()) return std::nullopt;
  const std::string said = seal->text();
  line.erase(kSeal);
  if (!is_seal_of(content_of_line(kind, line), said)) return std::nullopt;
  return line;
}

}  // namespace kw::store
