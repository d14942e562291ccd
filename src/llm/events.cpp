#include "llm/events.h"

namespace kw::llm {

bool EventReader::read(std::string_view piece, const std::function<bool(const Event&)>& each) {
  const auto end_of_line = [&] {
    if (line_.empty()) {
      const Event event = std::move(event_);
      const bool whole = has_data_;
      event_ = {};
      has_data_ = false;
      return whole && each(event);
    }
    const std::size_t colon = line_.find(':');
    const std::string field = line_.substr(0, colon);
    std::string value = colon == std::string::npos ? "" : line_.substr(colon + 1);
    if (value.starts_with(' ')) value.erase(0, 1);
    line_.clear();
    if (field == "event") event_.name = value;
    if (field == "data") {
      if (has_data_) event_.data += '\n';
      event_.data += value;
      has_data_ = true;
    }
    return false;  // comments (": ping"), id and retry are of no use here
  };
  for (const char c : piece) {
    if (c == '\n' && after_return_) {
      after_return_ = false;
      continue;
    }
    after_return_ = c == '\r';
    if (c == '\n' || c == '\r') {
      if (end_of_line()) return true;
    } else {
      line_ += c;
    }
  }
  return false;
}

}  // namespace kw::llm
