#include "llm/events.h"

#include <gtest/gtest.h>

#include <vector>

namespace kw::llm {
namespace {

TEST(EventReader, ReadsEventsHoweverTheyAreCut) {
  const std::string stream =
      ": a comment\r\nevent: one\r\ndata: first\r\ndata: second\r\n\r\nid: 7\ndata:tight\n\n\n\rdata: {\"a\": "
      "1}\r\rdata: never";
  for (std::size_t size = 1; size <= stream.size(); ++size) {
    EventReader reader;
    std::vector<std::string> seen;
    for (std::size_t at = 0; at < stream.size(); at += size) {
      reader.read(std::string_view(stream).substr(at, size), [&](const Event& event) {
        seen.push_back(event.name + "|" + event.data);
        return false;
      });
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"one|first\nsecond", "|tight", "|{\"a\": 1}"})) << "cut every " << size;
  }
}

TEST(EventReader, StopsWhereItIsTold) {
  EventReader reader;
  int seen = 0;
  EXPECT_TRUE(reader.read("data: 1\n\ndata: 2\n\n", [&](const Event&) { return ++seen == 1; }));
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace kw::llm
