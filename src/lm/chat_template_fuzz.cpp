// Any text may come as a chat template: it is rendered or refused, and nothing worse.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lm/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parsed = kw::lm::ChatTemplate::parse({reinterpret_cast<const char*>(data), size});
  if (!parsed.ok()) return 0;
  const kw::Json messages =
      kw::Json::array({{{"role", "user"}, {"content", "Hi"}}, {{"role", "assistant"}, {"content", "Yes"}}});
  static_cast<void>(parsed->render({{"messages", messages}, {"add_generation_prompt", true}}).ok());
  return 0;
}
