// The loop, with made-up work in place of candidates.
#include "runs/run.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <set>
#include <thread>

#include "base/scratch.h"
#include "runs/killed_run.h"

namespace kw::runs {
namespace {

using WorkedOn = Run;  // a fixture has a Run of gtest's

// Each item writes a note; what goes on around it is up to the test.
class Notes : public Work {
 public:
  Notes(std::size_t count, int workers = 1) : count_(count), workers_(workers) {}

  std::function<Status(Run& run, std::size_t index)> during = [](Run&, std::size_t) { return Status(); };
  std::string left;
  std::atomic<int> begun = 0;

  Status prepare(Run&) override { return {}; }
  report::PlannedWork plan(const Run& run) const override {
    return {.title = run.name(), .total = static_cast<std::int64_t>(count_)};
  }
  std::size_t items() const override { return count_; }
  int workers() const override { return workers_; }
  Status do_item(Run& run, Observer& observer, const std::shared_ptr<judge::Judge>&, std::size_t index) override {
    ++begun;
    KW_CHECK(during(run, index));
    KW_CHECK(run.note(store::EventKind::other, std::to_string(index)));
    observer.advance(1);
    return {};
  }
  Result<std::string> unfinished(Run&) override { return left; }

 private:
  const std::size_t count_;
  const int workers_;
};

class Watching : public Observer {
 public:
  std::atomic<std::int64_t> planned = 0, advanced = 0;
  store::RunState state = store::RunState::open;
  int ends = 0;
  void plan(const report::PlannedWork& plan) override { planned = plan.total; }
  void advance(std::int64_t count) override { advanced += count; }
  void end(store::RunState how) override {
    if (ends++ == 0) state = how;
  }
};

// Returns when they are gone.
void kill_wardens() {
  for (const int pid : children_of(::getpid())) ::kill(pid, SIGKILL);
  while (!children_of(::getpid()).empty()) ::usleep(1000);
}

class SlowRunLoop : public testing::Test {
 protected:
  SlowRunLoop() {
    store_.emplace(*store::Store::open(folder_.path()));
    workplace_.emplace(*store_);
    run_ = *WorkedOn::begin(*workplace_, {.command = "by hand", .strategy = "made up"}, {}, stop_);
  }
  std::set<std::string> noted(store::EventKind kind) const {
    std::set<std::string> texts;
    for (const store::Event& event : *store_->events(run_->id())) {
      if (event.kind == kind) texts.insert(event.text);
    }
    return texts;
  }
  store::RunState state() const { return store_->run(run_->id())->state; }

  const ScratchFolder folder_;
  std::optional<store::Store> store_;
  std::optional<Workplace> workplace_;
  Stop stop_;
  std::unique_ptr<WorkedOn> run_;
  Watching watching_;
};

TEST_F(SlowRunLoop, DoesEveryItemOnceAndEndsDone) {
  for (const int workers : {1, 4}) {
    Notes work(20, workers);
    auto run = *WorkedOn::begin(*workplace_, {.command = "by hand", .strategy = "made up"}, {}, stop_);
    std::swap(run, run_);
    Watching watching;
    const auto ended = work_on(*run_, work, watching, false);
    ASSERT_TRUE(ended.ok()) << ended.error().message;
    EXPECT_EQ(noted(store::EventKind::other).size(), 20u);
    EXPECT_EQ(work.begun, 20);
    EXPECT_EQ(watching.advanced, 20);
    EXPECT_EQ(watching.state, store::RunState::done);
    EXPECT_EQ(state(), store::RunState::done);
  }
}

TEST_F(SlowRunLoop, RecordsNothingOnceStoppingWasAskedFor) {
  Notes work(5);
  work.during = [&](WorkedOn& run, std::size_t index) {
    if (index == 2) run.stop().ask();
    return Status();
  };
  const auto ended = work_on(*run_, work, watching_, false);
  ASSERT_TRUE(ended.ok());
  EXPECT_TRUE(ended->interrupted);
  EXPECT_EQ(noted(store::EventKind::other), (std::set<std::string>{"0", "1"}));
  EXPECT_EQ(work.begun, 3);
  EXPECT_EQ(state(), store::RunState::stopped);
  EXPECT_EQ(watching_.state, store::RunState::stopped);
  EXPECT_FALSE(run_->note(store::EventKind::other, "x").ok());
}

// Ending the program does not wait for the work.
TEST_F(SlowRunLoop, SaysItsLastWordsWhileItWorks) {
  Notes work(1);
  store::RunState state_meanwhile = store::RunState::open;
  work.during = [&](WorkedOn& run, std::size_t) {
    run.stop().ask();
    run.stop().say_last_words();
    state_meanwhile = state();
    return Status();
  };
  ASSERT_TRUE(work_on(*run_, work, watching_, false).ok());
  EXPECT_EQ(state_meanwhile, store::RunState::stopped);
}

TEST_F(SlowRunLoop, AnItemThatFailsStopsTheRun) {
  Notes work(5);
  work.during = [](WorkedOn&, std::size_t index) { return index == 1 ? Status(fail("the disk is full")) : Status(); };
  const auto ended = work_on(*run_, work, watching_, false);
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().message, "the disk is full");
  EXPECT_EQ(work.begun, 2) << "it is not the judge that failed";
  EXPECT_EQ(state(), store::RunState::stopped);
  EXPECT_EQ(watching_.state, store::RunState::stopped);
}

TEST_F(SlowRunLoop, WhatIsLeftOverLeavesTheRunStopped) {
  Notes work(1);
  work.left = "1 of 2 is left";
  const auto ended = work_on(*run_, work, watching_, true);
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(ended->unfinished, "1 of 2 is left");
  EXPECT_EQ(state(), store::RunState::stopped);
  EXPECT_EQ(noted(store::EventKind::resumed), (std::set<std::string>{"1 of 1 left"}));
}

// A warden that is gone takes its judge with it; the item goes on with the next one, a few times.
TEST_F(SlowRunLoop, AnItemIsTriedAgainWithANewJudge) {
  Notes work(1);
  std::set<judge::Judge*> seen;
  std::vector<std::shared_ptr<judge::Judge>> kept;  // so that no two have the same address
  work.during = [&](WorkedOn& run, std::size_t) -> Status {
    const auto judge = *run.workplace().judges().get();
    seen.insert(judge.get());
    kept.push_back(judge);
    if (seen.size() > 1) return {};
    kill_wardens();
    return fail("its sandbox is gone");
  };
  const auto ended = work_on(*run_, work, watching_, false);
  ASSERT_TRUE(ended.ok()) << ended.error().message;
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_EQ(state(), store::RunState::done);
}

TEST_F(SlowRunLoop, AJudgeThatIsLostAgainAndAgainEndsTheWork) {
  Notes work(1);
  work.during = [&](WorkedOn&, std::size_t) -> Status {
    kill_wardens();
    return fail("its sandbox is gone");
  };
  EXPECT_FALSE(work_on(*run_, work, watching_, false).ok());
  EXPECT_EQ(work.begun, kMostLostJudges);
}

// Pieces of several runs, which come in while they are worked off.
class Incoming : public Pieces {
 public:
  class Note : public Piece {
   public:
    Note(WorkedOn& its_run, Status result) : run_(its_run), result_(std::move(result)) {}
    WorkedOn& run() override { return run_; }
    Status work(const std::shared_ptr<judge::Judge>&) override {
      KW_CHECK(run_.note(store::EventKind::other, "worked on"));
      return result_;
    }
    Status end(Status status) override {
      ended = std::move(status);
      return {};
    }
    std::optional<Status> ended;

   private:
    WorkedOn& run_;
    const Status result_;
  };

  std::shared_ptr<Note> add(WorkedOn& run, Status result = {}) {
    const std::lock_guard guard(lock_);
    notes_.push_back(std::make_shared<Note>(run, std::move(result)));
    changed_.notify_all();
    return notes_.back();
  }
  void close() {
    const std::lock_guard guard(lock_);
    closed_ = true;
    changed_.notify_all();
  }
  // Returns when this number were begun.
  void wait_for(std::size_t count) {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [&] { return begun_ >= count; });
  }
  std::shared_ptr<Piece> next() override {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [&] { return closed_ || begun_ < notes_.size(); });
    if (begun_ == notes_.size()) return nullptr;
    changed_.notify_all();
    return notes_[begun_++];
  }
  int workers() const override { return 2; }

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Note>> notes_;
  std::size_t begun_ = 0;
  bool closed_ = false;
};

TEST_F(SlowRunLoop, WorksOffWhatComesInMeanwhileForSeveralRuns) {
  const auto other = *WorkedOn::begin(*workplace_, {.command = "by hand", .strategy = "made up"}, {}, stop_);
  Incoming pieces;
  Status status = fail("not ended");
  std::jthread loop([&] { status = work_off(pieces); });
  const auto first = pieces.add(*run_);
  pieces.wait_for(1);
  const auto failing = pieces.add(*other, fail("no luck"));
  pieces.wait_for(2);
  const auto last = pieces.add(*other);
  pieces.close();
  loop.join();
  EXPECT_TRUE(status.ok()) << "a piece said that the others go on";
  EXPECT_TRUE(first->ended && first->ended->ok());
  ASSERT_TRUE(failing->ended);
  EXPECT_EQ(failing->ended->error().message, "no luck");
  EXPECT_TRUE(last->ended && last->ended->ok());
  const auto worked_on = [&](const WorkedOn& run) {
    const std::vector<store::Event> events = *store_->events(run.id());
    return std::ranges::count(events, store::EventKind::other, &store::Event::kind);
  };
  EXPECT_EQ(worked_on(*run_), 1);
  EXPECT_EQ(worked_on(*other), 2);
}

TEST_F(SlowRunLoop, OneProgramWorksOnARun) {
  EXPECT_FALSE(WorkedOn::open(*workplace_, run_->id(), stop_).ok());
  const std::int64_t id = run_->id();
  run_.reset();
  EXPECT_TRUE(WorkedOn::open(*workplace_, id, stop_).ok());
}

}  // namespace
}  // namespace kw::runs
