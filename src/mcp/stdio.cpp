#include "mcp/stdio.h"

#include <atomic>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "mcp/desk.h"
#include "mcp/line_stream.h"
#include "mcp/protocol.h"

namespace kw::mcp {
namespace {

// Requests that are worked on, each on its thread: the protocol bounds how many there are.
class Crew {
 public:
  void add(std::shared_ptr<Work> work, LineOutput& output) {
    threads_.remove_if([](const Member& one) { return one.done->load(); });
    auto done = std::make_shared<std::atomic<bool>>(false);
    std::jthread thread([work = std::move(work), done, &output] {
      const auto reply = work->run([&](const std::string& notification) { output.say(notification); });
      if (reply) output.say(reply->text);
      *done = true;
    });
    threads_.push_back({std::move(done), std::move(thread)});
  }

 private:
  struct Member {
    std::shared_ptr<std::atomic<bool>> done;
    std::jthread thread;
  };
  std::list<Member> threads_;
};

}  // namespace

void serve_descriptors(Desk& desk, int in, int out) {
  LineOutput output(out);
  Conversation conversation(desk);
  LineInput lines(in, kMostMessageBytes);
  {
    Crew crew;
    std::string line;
    for (LineInput::Got got; !output.gone() && (got = lines.next(line)) != LineInput::Got::end;) {
      if (got == LineInput::Got::too_long) {
        output.say(Conversation::refusal(kInvalidRequest, "a message has at most 8 MiB").text);
        continue;
      }
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      const Taken taken = conversation.take(line);
      if (taken.reply) output.say(taken.reply->text);
      if (taken.work) crew.add(taken.work, output);
    }
    output.nothing_more_comes();
    desk.hurry();
  }
}

}  // namespace kw::mcp
