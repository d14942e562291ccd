// Any JSON may come as a tokenizer, and any text to it: ids come out or an Error, and nothing worse. The text is what
// follows the first zero byte.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lm/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t end = all.find('\0');
  const kw::Json json = kw::Json::parse_quietly(all.substr(0, end));
  if (json.is_discarded()) return 0;
  const auto tokenizer = kw::lm::Tokenizer::from_json(json);
  if (!tokenizer.ok() || end == std::string_view::npos) return 0;
  const auto ids = tokenizer->encode(all.substr(end + 1));
  if (ids.ok()) static_cast<void>(tokenizer->decode(*ids));
  return 0;
}
