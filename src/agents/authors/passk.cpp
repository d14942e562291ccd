// The same question k times, at a temperature that lets answers differ: the best of k samples.
#include "agents/author.h"

namespace kw::agents::authors {
namespace {

constexpr double kTemperature = 0.8;

class PassK : public Author {
 public:
  Round next(Work& work, Talk& talk) override { return ask_for_kernel(work, talk, kTemperature); }
};

}  // namespace

AuthorKind passk() {
  return {.name = "passk",
          .about = "the same question k times, the best answer counts",
          .usual_rounds = 10,
          .temperature = kTemperature,
          .make = [] { return std::unique_ptr<Author>(new PassK); }};
}

}  // namespace kw::agents::authors
