// One question, one answer: what a model can do alone.
#include "agents/author.h"

namespace kw::agents::authors {
namespace {

class OneShot : public Author {
 public:
  Round next(Work& work, Talk& talk) override { return ask_for_kernel(work, talk); }
};

}  // namespace

AuthorKind oneshot() {
  return {.name = "oneshot", .about = "one question, one answer", .usual_rounds = 1, .make = [] {
            return std::unique_ptr<Author>(new OneShot);
          }};
}

}  // namespace kw::agents::authors
