#include "runs/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <ostream>
#include <thread>

#include "base/json.h"
#include "store/store.h"

namespace kw::runs {
namespace {

using Clock = std::chrono::steady_clock;

// Often enough for an eye, seldom enough not to be felt by what is being timed.
constexpr auto kTick = std::chrono::milliseconds(250);
constexpr double kRepaint_s = 1;  // also where nothing happened: times go on

constexpr char kEraseBelow[] = "\r\033[J";

struct Size {
  int width = 80;
  int height = 24;
  bool operator==(const Size&) const = default;
};

Size size_of(int fd) {
  winsize size = {};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

// In the background the terminal is another's.
bool is_ours(int fd) {
  const pid_t owner = ::tcgetpgrp(fd);
  return owner < 0 || owner == ::getpgrp();
}

bool write_all(int fd, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t now = ::write(fd, text.data() + done, text.size() - done);
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) return false;
    done += static_cast<std::size_t>(now);
  }
  return true;
}

Json or_null(std::int64_t total) { return total > 0 ? Json(total) : Json(nullptr); }

}  // namespace

struct Progress::State {
  explicit State(Where given) : where(given) {}

  // All of it under `lock`.
  void say(const char* event, Json fields) {
    if (where.events_fd < 0) return;
    Json json = {{"event", event}, {"at", store::time_now()}};
    for (const auto& [name, value] : fields.items()) json[name] = value;
    if (write_all(where.events_fd, json.dump() + "\n")) return;
    // A reader that went away or a full disk ends the events, not the work.
    const std::string why = std::strerror(errno);
    close_events();
    if (where.style != Style::quiet) message("kw: no more events are written: " + why + "\n");
  }

  void close_events() {
    if (where.events_fd > 2) ::close(where.events_fd);
    where.events_fd = -1;
  }

  void message(const std::string& text) {
    erase();
    write_all(where.fd, text);
  }

  void erase() {
    if (!painted) return;
    painted = !write_all(where.fd, kEraseBelow);
    dirty = true;
  }

  double elapsed_s() const { return began ? std::chrono::duration<double>(Clock::now() - *began).count() : 0; }

  report::Tally now() const {
    report::Tally all = tally;
    all.elapsed_s = elapsed_s();
    for (const Running& one : running) {
      all.running.push_back({one.what, std::chrono::duration<double>(Clock::now() - one.since).count()});
    }
    return all;
  }

  void paint() {
    if (!is_ours(where.fd)) return;
    const Size size = size_of(where.fd);
    const auto lines = report::live_block(now(), size.width, size.height - 1);
    std::string text = "\r";
    for (std::size_t i = 0; i < lines.size(); ++i) text += (i > 0 ? "\r\n" : "") + lines[i] + "\033[K";
    text += "\033[J\r";
    if (lines.size() > 1) text += fmt::format("\033[{}A", lines.size() - 1);
    painted = write_all(where.fd, text);
    painted_at = Clock::now();
    painted_size = size;
    dirty = false;
  }

  void tick() {
    if (!began || ended) return;
    if (where.style == Style::live) {
      const bool is_old = std::chrono::duration<double>(Clock::now() - painted_at).count() >= kRepaint_s;
      if (dirty || is_old || size_of(where.fd) != painted_size) paint();
    } else if (elapsed_s() - line_at_s >= where.every_s) {
      line_at_s = elapsed_s();
      write_all(where.fd, "kw: " + report::plain_line(now()) + "\n");
    }
  }

  void watch(const std::stop_token& stop) {
    std::unique_lock guard(lock);
    while (!stop.stop_requested()) {
      wake.wait_for(guard, stop, kTick, [] { return false; });
      if (!stop.stop_requested()) tick();
    }
  }

  void forget(std::int64_t id) {
    std::erase_if(running, [&](const Running& one) { return one.id == id; });
  }

  Where where;
  std::mutex lock;
  std::condition_variable_any wake;
  report::Tally tally;  // without elapsed_s and running
  struct Running {
    std::int64_t id = 0;
    std::string what;
    Clock::time_point since;
  };
  std::vector<Running> running;  // the oldest first
  std::optional<Clock::time_point> began;
  bool ended = false;
  bool dirty = false;
  bool painted = false;  // the block is on the screen, and the cursor at its beginning
  Clock::time_point painted_at;
  Size painted_size;
  double line_at_s = 0;
  std::jthread thread;  // the last: it ends before what it uses
};

Progress::Progress(Where where) : state_(std::make_unique<State>(where)) {
  if (where.style == Style::quiet) return;
  state_->thread = std::jthread([state = state_.get()](const std::stop_token& stop) { state->watch(stop); });
}

Progress::~Progress() {
  state_->thread = {};
  state_->erase();
  state_->close_events();
}

bool Progress::is_quiet() const { return state_->where.style == Style::quiet; }

void Progress::plan(const report::PlannedWork& plan) {
  State& state = *state_;
  const std::lock_guard guard(state.lock);
  if (!state.began) {
    state.began = Clock::now();
    state.tally.done = plan.done;
    state.tally.plan = plan;
  }
  // What was done before now stays what it was at first.
  const std::int64_t before = state.tally.plan.done;
  state.tally.plan = plan;
  state.tally.plan.done = before;
  state.dirty = true;
  state.say("planned", {{"run", plan.title},
                        {"unit", plan.unit},
                        {"total", or_null(plan.total)},
                        {"done", state.tally.done},
                        {"budget_s", plan.budget_s ? Json(*plan.budget_s) : Json(nullptr)}});
}

void Progress::start(std::int64_t id, const std::string& task, const std::string& candidate, const std::string& doing) {
  State& state = *state_;
  const std::lock_guard guard(state.lock);
  state.forget(id);
  const std::string what = candidate.empty() ? task : task + " " + candidate;
  state.running.push_back({id, what + ": " + doing, Clock::now()});
  state.dirty = true;
  state.say("started", {{"id", id}, {"task", task}, {"candidate", candidate}, {"doing", doing}});
}

void Progress::finish(std::int64_t id, const std::string& task, const std::string& candidate, const Verdict& verdict) {
  State& state = *state_;
  const std::lock_guard guard(state.lock);
  state.forget(id);
  state.dirty = true;
  const bool is_best = state.tally.count(task, verdict);
  Json speedup = Json::object();
  for (const Speedup& one : verdict.speedups) speedup[one.rival] = one.median;
  state.say("finished", {{"id", id},
                         {"task", task},
                         {"candidate", candidate},
                         {"accepted", verdict.accepted()},
                         {"stage", name_of(verdict.stage)},
                         {"reason", verdict.reason.empty() ? Json(nullptr) : Json(text_of(verdict.reason))},
                         {"time_ns", verdict.time_ns ? Json(*verdict.time_ns) : Json(nullptr)},
                         {"speedup", std::move(speedup)}});
  if (!is_best) return;
  const report::Tally::Best& best = state.tally.best.at(task);
  state.say("best", {{"task", task}, {"candidate", candidate}, {"speedup", best.speedup}, {"rival", best.rival}});
}

void Progress::drop(std::int64_t id) {
  const std::lock_guard guard(state_->lock);
  state_->forget(id);
  state_->dirty = true;
}

void Progress::best(const std::string& task, const std::string& candidate, double speedup, const std::string& rival) {
  State& state = *state_;
  const std::lock_guard guard(state.lock);
  if (!state.tally.count_passing(task, speedup, rival)) return;
  state.dirty = true;
  state.say("best", {{"task", task}, {"candidate", candidate}, {"speedup", speedup}, {"rival", rival}});
}

void Progress::advance(std::int64_t count) {
  State& state = *state_;
  const std::lock_guard guard(state.lock);
  state.tally.done += count;
  state.dirty = true;
  state.say("advanced", {{"done", state.tally.done}, {"total", or_null(state.tally.plan.total)}});
}

void Progress::error(store::EventKind kind, const std::string& text) {
  State& state = *state_;
  const std::lock_guard guard(state.lock);
  ++state.tally.errors[std::string(name_of(kind))];
  state.dirty = true;
  state.say("error", {{"kind", name_of(kind)}, {"text", text}});
}

void Progress::print(std::ostream& out, const std::string& line) {
  const std::lock_guard guard(state_->lock);
  // Into a file or a pipe it goes without a trace on the screen.
  if (::isatty(1) == 1) state_->erase();
  out << line << std::flush;
}

void Progress::note(const std::string& line) {
  const std::lock_guard guard(state_->lock);
  if (state_->where.style != Style::quiet && state_->where.notes) state_->message(line + "\n");
}

void Progress::end(store::RunState how) {
  State& state = *state_;
  const std::lock_guard guard(state.lock);
  if (state.ended || !state.began) return;
  state.ended = true;
  const report::Tally now = state.now();
  if (state.where.style != Style::quiet) state.message("kw: " + report::summary(now, std::string(name_of(how))) + "\n");
  state.say("ended", {{"state", name_of(how)},
                      {"done", now.done},
                      {"total", or_null(now.plan.total)},
                      {"judged", now.judged},
                      {"accepted", now.accepted},
                      {"errors", now.errors},
                      {"seconds", now.elapsed_s}});
}

}  // namespace kw::runs
