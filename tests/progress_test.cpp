// Progress on a real pseudo-terminal, whose picture is drawn by a small terminal of our own.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>

#include <filesystem>
#include <functional>
#include <regex>
#include <sstream>

#include "base/files.h"
#include "base/json.h"
#include "base/scratch.h"
#include "cli/progress_flags.h"

namespace kw::cli {
namespace {
using runs::Progress;
namespace fs = std::filesystem;

// Knows what Progress uses: letters, \r, \n, cursor up, erase to the line's end and to the screen's end. Nothing
// scrolls: it has as many rows as needed.
class Screen {
 public:
  explicit Screen(std::size_t width) : width_(width) {}

  void write(const std::string& bytes) {
    for (const char c : bytes) {
      if (!sequence_.empty() || c == '\033') {
        sequence_ += c;
        if (std::isalpha(static_cast<unsigned char>(c))) obey();
      } else if (c == '\r') {
        column_ = 0;
      } else if (c == '\n') {
        ++row_;
      } else {
        put(c);
      }
    }
  }

  // As terminals do that wrap long lines anew: the cursor stays with the letter it is at.
  void narrow(std::size_t width) {
    std::vector<std::string> rows;
    std::size_t row = 0;
    for (std::size_t i = 0; i < rows_.size() || i <= row_; ++i) {
      if (i == row_) row = rows.size();
      std::string rest = i < rows_.size() ? rows_[i] : "";
      for (; rest.size() > width; rest.erase(0, width)) rows.push_back(rest.substr(0, width));
      rows.push_back(rest);
    }
    rows_ = rows;
    row_ = row;
    width_ = width;
  }

  // Without the empty ones at the end.
  std::vector<std::string> rows() const {
    std::vector<std::string> rows = rows_;
    while (!rows.empty() && rows.back().empty()) rows.pop_back();
    return rows;
  }

  std::string text() const {
    std::string text;
    for (const std::string& row : rows()) text += row + "\n";
    return text;
  }

 private:
  std::string& line() {
    if (rows_.size() <= row_) rows_.resize(row_ + 1);
    return rows_[row_];
  }

  void put(char c) {
    if (column_ == width_) {
      ++row_;
      column_ = 0;
    }
    if (line().size() <= column_) line().resize(column_ + 1, ' ');
    line()[column_++] = c;
  }

  void obey() {
    const int count = sequence_.size() > 3 ? std::stoi(sequence_.substr(2)) : 1;
    switch (sequence_.back()) {
      case 'A':
        row_ -= std::min(row_, static_cast<std::size_t>(count));
        break;
      case 'J':
        rows_.resize(std::min(rows_.size(), row_ + 1));
        [[fallthrough]];
      case 'K':
        line().resize(std::min(line().size(), column_));
        break;
      default:
        ADD_FAILURE() << "this terminal does not know ESC" << sequence_.substr(1);
    }
    sequence_.clear();
  }

  std::size_t width_;
  std::vector<std::string> rows_;
  std::size_t row_ = 0, column_ = 0;
  std::string sequence_;
};

class Terminal {
 public:
  explicit Terminal(unsigned short width) : screen_(width) {
    winsize size{.ws_row = 24, .ws_col = width};
    EXPECT_EQ(::openpty(&master_, &slave_, nullptr, nullptr, &size), 0);
  }
  ~Terminal() {
    ::close(master_);
    ::close(slave_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  int fd() const { return slave_; }

  // The terminal is the program's own, as a shell's child has it.
  pid_t run(const std::vector<std::string>& words) {
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const pid_t child = ::fork();
    if (child != 0) return child;
    if (::login_tty(slave_) == 0) ::execv(arguments[0], arguments.data());
    ::_exit(99);
  }

  void narrow(unsigned short width) {
    take();
    screen_.narrow(width);
    winsize size{.ws_row = 24, .ws_col = width};
    EXPECT_EQ(::ioctl(master_, TIOCSWINSZ, &size), 0);
  }

  // What is seen as soon as it is as wanted, or after some seconds.
  const Screen& seen_when(const std::function<bool(const Screen&)>& wanted, int most_s = 20) {
    for (int i = 0; i < 100 * most_s; ++i) {
      take();
      if (wanted(screen_)) break;
      ::usleep(10'000);
    }
    return screen_;
  }
  const Screen& seen_with(const std::string& text) {
    return seen_when([&](const Screen& screen) { return screen.text().find(text) != std::string::npos; });
  }

 private:
  void take() {
    pollfd ready{.fd = master_, .events = POLLIN};
    while (::poll(&ready, 1, 0) > 0 && (ready.revents & POLLIN)) {
      char bytes[4096];
      const ssize_t got = ::read(master_, bytes, sizeof bytes);
      if (got <= 0) return;
      screen_.write({bytes, static_cast<std::size_t>(got)});
    }
  }

  int master_ = -1, slave_ = -1;
  Screen screen_;
};

Verdict accepted(double speedup) {
  return {.stage = VerdictStage::accepted, .time_ns = 1000, .speedups = {{.rival = "plain", .median = speedup}}};
}

TEST(Progress, IsOneBlockThatSurvivesResizingAndLeavesASummary) {
  Terminal terminal(80);
  const std::string before = "$ kw eval --batch kernels.jsonl\n";
  ASSERT_EQ(::write(terminal.fd(), before.data(), before.size()), std::ssize(before));
  {
    Progress progress({.style = Progress::Style::live, .fd = terminal.fd()});
    progress.plan({.title = "r1", .total = 4});
    progress.start(1, "Relu", "relu.cpp", "timing");
    progress.finish(2, "Relu", "wrong.cpp", {.stage = VerdictStage::verify});
    progress.advance();
    const auto wide = terminal.seen_with("errors").rows();
    ASSERT_EQ(wide.size(), 4u) << terminal.seen_with("").text();
    EXPECT_EQ(wide[0], "$ kw eval --batch kernels.jsonl");
    EXPECT_EQ(wide[1].substr(0, 8), "r1  [###") << wide[1];
    EXPECT_NE(wide[1].find("-]  1/4 candidates  "), std::string::npos) << wide[1];
    EXPECT_EQ(wide[2], "  now     Relu relu.cpp: timing");
    EXPECT_EQ(wide[3], "  errors  verify 1");

    terminal.narrow(34);
    const auto narrow = terminal
                            .seen_when([](const Screen& screen) {
                              const auto rows = screen.rows();
                              return rows.size() == 4 && rows[1].size() < 34;
                            })
                            .rows();
    ASSERT_EQ(narrow.size(), 4u) << terminal.seen_with("").text();
    EXPECT_EQ(narrow[0], "$ kw eval --batch kernels.jsonl") << "what was there before stays";
    EXPECT_EQ(narrow[1].substr(0, 4), "r1  ");
    EXPECT_EQ(narrow[2], "  now     Relu relu.cpp: timing");

    progress.finish(1, "Relu", "relu.cpp", accepted(2.5));
    progress.advance();
    EXPECT_NE(terminal.seen_with("2.50 x plain").text().find("r1  2/4 candidates"), std::string::npos);
    progress.end(store::RunState::stopped);
    progress.end(store::RunState::done);  // once is enough
  }
  std::string end;
  for (const std::string& row : terminal.seen_with("stopped").rows()) end += row;
  EXPECT_TRUE(
      std::regex_match(end, std::regex(R"(\$ kw eval --batch kernels\.jsonl)"
                                       R"(kw: r1 stopped: 2 of 4 candidates in \d:\d\d; 1 of 2 accepted, verify 1; )"
                                       R"(best Relu 2\.50 x plain)")))
      << "more or less than the summary is left: " << end;
}

TEST(Progress, IsErasedWhereNobodyEndsIt) {
  Terminal terminal(80);
  {
    Progress progress({.style = Progress::Style::live, .fd = terminal.fd()});
    progress.plan({.title = "r1", .total = 4});
    EXPECT_FALSE(terminal.seen_with("r1").rows().empty());
  }
  EXPECT_EQ(terminal.seen_when([](const Screen& screen) { return screen.rows().empty(); }).text(), "");
}

// The real program, its answers and its progress on one terminal that is made narrower while it works.
TEST(SlowProgress, OfABatchOnATerminalLeavesAnswersAndASummary) {
  const ScratchFolder folder;
  const ScratchVariable record("KW_STORE", (folder.path() / "record").string());
  const ScratchVariable cache("XDG_CACHE_HOME", (folder.path() / "cache").string());
  const ScratchVariable kind("TERM", "xterm");
  const std::string batch = (folder.path() / "batch.jsonl").string();
  ASSERT_TRUE(write_file(batch, Json{{"task", "Relu"}, {"source", "int x = ;"}, {"id", "first"}}.dump() + "\n" +
                                    Json{{"task", "Relu"}, {"source", "int x = 1 +;"}, {"id", "second"}}.dump() + "\n")
                  .ok());
  const std::string program = (fs::read_symlink("/proc/self/exe").parent_path() / "kw").string();
  Terminal terminal(100);
  const pid_t child = terminal.run({program, "eval", "--batch", batch});
  EXPECT_NE(terminal.seen_with("  now ").text().find("0/2 candidates"), std::string::npos);
  terminal.narrow(60);
  int status = 0;
  terminal.seen_when([&](const Screen&) { return ::waitpid(child, &status, WNOHANG) == child; }, 240);
  EXPECT_EQ(WEXITSTATUS(status), kNo);
  const std::string left = terminal.seen_with("done: 2 of 2").text();
  std::string text;
  for (const char c : left) text += c == '\n' ? "" : std::string(1, c);
  for (const char* wanted :
       {"kw: this is run r1", "\"id\":\"first\"", "\"id\":\"second\"", "0 of 2 accepted, build 2"}) {
    EXPECT_NE(text.find(wanted), std::string::npos) << wanted << "\n" << left;
  }
  for (const char* gone : {"  now ", "candidates  ", "errors  "}) EXPECT_EQ(left.find(gone), std::string::npos) << left;
}

// The other end of a pipe.
std::string all_of(int fd) {
  std::string text;
  char bytes[4096];
  for (ssize_t got; (got = ::read(fd, bytes, sizeof bytes)) > 0;) text.append(bytes, static_cast<std::size_t>(got));
  return text;
}

TEST(Progress, IsALineNowAndThenWithoutATerminal) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  {
    Progress progress({.style = Progress::Style::lines, .fd = ends[1], .every_s = 0.3});
    progress.plan({.title = "r1", .total = 2});
    progress.finish(1, "Relu", "relu.cpp", accepted(2));
    progress.advance();
    ::usleep(700'000);
    progress.end(store::RunState::done);
  }
  ::close(ends[1]);
  const std::string text = all_of(ends[0]);
  ::close(ends[0]);
  EXPECT_EQ(text.find('\033'), std::string::npos) << text;
  EXPECT_EQ(text.rfind("kw: 1 of 2 candidates, ", 0), 0u) << text;
  EXPECT_NE(text.find("\nkw: r1 done: 1 of 2 candidates"), std::string::npos) << text;
}

TEST(Progress, TellsProgramsEveryEvent) {
  const ScratchFolder folder;
  const std::string file = (folder.path() / "events").string();
  Arguments arguments;
  arguments.add("--events", {file});
  arguments.add("--quiet", {});
  {
    const auto progress = open_progress(arguments);
    ASSERT_TRUE(progress.ok());
    (*progress)->plan({.title = "r1", .total = 2});
    (*progress)->start(1, "Relu", "relu.cpp", "timing");
    (*progress)->finish(1, "Relu", "relu.cpp", accepted(2));
    (*progress)->advance();
    (*progress)->error(store::EventKind::problem, "no\nluck \xff");
    (*progress)->end(store::RunState::stopped);
  }
  std::vector<Json> events;
  std::istringstream stream(*read_file(file));
  for (std::string line; std::getline(stream, line);) events.push_back(Json::parse(line));
  ASSERT_EQ(events.size(), 7u);
  const char* const names[] = {"planned", "started", "finished", "best", "advanced", "error", "ended"};
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(events[i]["event"], names[i]);
  EXPECT_EQ(events[0]["total"], 2);
  EXPECT_EQ(events[2]["speedup"]["plain"], 2.0);
  EXPECT_EQ(events[2]["accepted"], true);
  EXPECT_EQ(events[3]["rival"], "plain");
  EXPECT_EQ(events[4]["done"], 1);
  EXPECT_EQ(events[6]["errors"]["problem"], 1);
}

TEST(Progress, SaysThatEventsCannotBeWritten) {
  Arguments arguments;
  arguments.add("--events", {"/nowhere/events"});
  EXPECT_FALSE(open_progress(arguments).ok());
}

}  // namespace
}  // namespace kw::cli
