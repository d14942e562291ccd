// Server-sent events, as streaming models send them: pieces of bytes in, whole events out, wherever the pieces are cut.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace kw::llm {

struct Event {
  std::string name;  // "" where the stream names none
  std::string data;  // lines joined with \n
};

class EventReader {
 public:
  // Calls `each` for every event that this piece completes; ends early and returns true where `each` does.
  bool read(std::string_view piece, const std::function<bool(const Event&)>& each);

 private:
  std::string line_;
  bool after_return_ = false;  // a line ended with \r: a \n that follows belongs to it
  Event event_;
  bool has_data_ = false;
};

}  // namespace kw::llm
