#include "runs/stop.h"

namespace kw::runs {

void Stop::say_last_words() {
  const std::lock_guard guard(lock_);
  for (const auto& say : words_) say();
}

Stop::LastWords::LastWords(Stop& stop, std::function<void()> say) : stop_(stop) {
  const std::lock_guard guard(stop_.lock_);
  place_ = stop_.words_.insert(stop_.words_.end(), std::move(say));
}

Stop::LastWords::~LastWords() {
  const std::lock_guard guard(stop_.lock_);
  stop_.words_.erase(place_);
}

}  // namespace kw::runs
