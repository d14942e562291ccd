// For tests and benchmarks: a real `kw eval --batch` that is shot at, again and again, and resumed.
//
// Every line that the program prints is kept. At the end the record must hold each of them, once, and every item that
// was planned.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/random.h"
#include "store/store.h"

namespace kw::runs {

// The processes that a process started and that still live: of `kw`, its warden.
inline std::vector<int> children_of(int parent) {
  std::vector<int> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const int pid = std::atoi(entry.path().filename().c_str());
    std::ifstream stat(entry.path() / "stat");
    std::string text;
    if (pid == 0 || !std::getline(stat, text) || text.rfind(')') == std::string::npos) continue;
    std::istringstream rest(text.substr(text.rfind(')') + 1));
    std::string state;
    int its_parent = 0;
    rest >> state >> its_parent;
    if (its_parent == parent && state != "Z") children.push_back(pid);
  }
  return children;
}

enum class Target { program, warden, child, nobody };  // child: a compiler, or the process of a candidate

struct KilledRunCounts {
  int items = 0;
  int kills = 0;
  std::map<Target, int> by_target;
  int lost = 0;                        // told and not recorded so, or planned and without a verdict
  int doubled = 0;                     // told twice
  int not_resumable = 0;               // runs
  std::vector<std::string> misjudged;  // why right candidates were rejected: their own process or compiler was shot
};

class KilledRun {
 public:
  KilledRun(std::filesystem::path folder, int items, double most_wait_s, std::uint64_t seed)
      : folder_(std::move(folder)), items_(items), most_wait_s_(most_wait_s), random_(seed) {
    std::filesystem::create_directories(folder_);
    std::string batch;
    for (int i = 0; i < items; ++i) {
      const std::string file = fmt::format("kernel{}.cpp", i);
      [[maybe_unused]] const Status made = write_file(folder_ / file, kernel(seed, i));
      batch += fmt::format("{{\"task\": \"Relu\", \"file\": \"{}\"}}\n", file);
    }
    [[maybe_unused]] const Status written = write_file(folder_ / "batch.jsonl", batch);
  }

  // Shoots `kills` times, or until the run is done, and adds up what came of it.
  void shoot(int kills, KilledRunCounts& counts) {
    counts.items += items_;
    start({"eval", "--batch", "batch.jsonl", "--store", "."});
    for (int fruitless = 0; kills > 0 && fruitless < 100;) {
      ::usleep(static_cast<useconds_t>(1e6 * random_.uniform(0.02, most_wait_s_)));
      if (ended()) {
        if (done()) break;
        start(after_eval());
        ++fruitless;
        continue;
      }
      const Target hit = shoot_once();
      if (hit == Target::nobody) continue;
      ++counts.by_target[hit];
      ++counts.kills;
      --kills;
    }
    for (int tries = 0; tries < 10 && !(ended() && done()); ++tries) {
      if (ended()) start(after_eval());
      wait();
    }
    count(counts);
  }

 private:
  // No two are the same, and all are right.
  static std::string kernel(std::uint64_t seed, int number) {
    return fmt::format(
        "// {} {}\n#include <kernelwright.h>\nKW_KERNEL(call) {{\n  const auto x = call.input<float>(0);\n"
        "  auto y = call.output<float>(0);\n  for (int64_t i = 0; i < x.count(); ++i) y[i] = x[i] < 0 ? 0 : "
        "x[i];\n}}\n",
        seed, number);
  }

  // A program killed before it wrote the run down has told nobody of one: then there is nothing to resume.
  std::vector<std::string> after_eval() const {
    const auto store = store::Store::open_existing(folder_);
    const bool there = store.ok() && store->find_run("r1").ok();
    if (there) return {"resume", "r1", "--store", "."};
    return {"eval", "--batch", "batch.jsonl", "--store", "."};
  }

  void start(const std::vector<std::string>& words) {
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "kw";
    const std::string out = (folder_ / fmt::format("out{:03}", ++started_)).string();
    program_ = ::fork();
    if (program_ == 0) {
      std::vector<char*> arguments = {const_cast<char*>("kw")};
      for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
      arguments.push_back(nullptr);
      const int file = ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
      const int nothing = ::open("/dev/null", O_WRONLY);
      if (::chdir(folder_.c_str()) != 0 || ::dup2(file, 1) < 0 || ::dup2(nothing, 2) < 0) ::_exit(99);
      ::execv(program.c_str(), arguments.data());
      ::_exit(99);
    }
  }

  bool ended() {
    if (program_ > 0 && ::waitpid(program_, nullptr, WNOHANG) == program_) program_ = 0;
    return program_ == 0;
  }
  void wait() {
    if (program_ > 0) ::waitpid(program_, nullptr, 0);
    program_ = 0;
  }
  bool done() const {
    const auto store = store::Store::open_existing(folder_);
    if (!store.ok()) return false;
    const auto run = store->find_run("r1");
    return run.ok() && run->done == run->planned;
  }

  // The program's processes: itself, its warden, and what the warden started.
  std::map<Target, std::vector<int>> processes() const {
    std::map<int, int> parent_of;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const int pid = std::atoi(entry.path().filename().c_str());
      std::ifstream stat(entry.path() / "stat");
      std::string text;
      if (pid == 0 || !std::getline(stat, text)) continue;
      const std::size_t name_end = text.rfind(')');
      if (name_end == std::string::npos) continue;
      std::istringstream rest(text.substr(name_end + 1));
      std::string state;
      rest >> state >> parent_of[pid];
    }
    std::map<Target, std::vector<int>> found = {{Target::program, {program_}}};
    for (const auto& [pid, parent] : parent_of) {
      int depth = 1, at = parent;
      while (at != program_ && at > 1 && parent_of.contains(at) && depth < 20) at = parent_of[at], ++depth;
      if (at == program_) found[depth == 1 ? Target::warden : Target::child].push_back(pid);
    }
    return found;
  }

  Target shoot_once() {
    const auto found = processes();
    const Target wanted = random_.pick({Target::program, Target::warden, Target::child});
    const auto targets = found.find(wanted);
    if (targets == found.end()) return Target::nobody;
    ::kill(random_.pick(targets->second), SIGKILL);
    if (wanted == Target::program) wait();
    return wanted;
  }

  // The word behind a key of a line of JSON.
  static std::string behind(const std::string& line, const std::string& key) {
    const std::size_t at = line.find(key);
    if (at == std::string::npos) return {};
    const std::size_t begin = at + key.size();
    return line.substr(begin, line.find_first_of("\",}", begin) - begin);
  }

  void count(KilledRunCounts& counts) {
    std::map<int, std::string> told;  // stages by line
    for (int i = 1; i <= started_; ++i) {
      const auto text = read_file(folder_ / fmt::format("out{:03}", i));
      std::istringstream lines(text.ok() ? *text : "");
      for (std::string line; std::getline(lines, line);) {
        const std::string stage = behind(line, "\"stage\":\""), number = behind(line, "\"line\":");
        if (stage.empty() || !line.ends_with('}')) continue;  // a line cut off, or the machine's failure
        if (!told.emplace(std::atoi(number.c_str()), stage).second) ++counts.doubled;
      }
    }
    if (!done()) ++counts.not_resumable;
    std::set<std::int64_t> recorded;
    const auto store = store::Store::open_existing(folder_);
    if (store.ok()) {
      const Status read = store->each_recorded(1, [&](const store::Recorded& one) -> Status {
        if (!one.judged) return {};
        recorded.insert(one.position);
        if (!one.accepted) counts.misjudged.push_back(behind(one.json, "\"reason\":\""));
        if (const auto found = told.find(static_cast<int>(one.position)); found != told.end()) {
          if (found->second != one.stage) ++counts.lost;
          told.erase(found);
        }
        return {};
      });
      if (!read.ok()) ++counts.not_resumable;
    }
    counts.lost += static_cast<int>(told.size());
    counts.lost += items_ - static_cast<int>(recorded.size());
  }

  const std::filesystem::path folder_;
  const int items_;
  const double most_wait_s_;  // between two shots
  Random random_;
  int started_ = 0;
  pid_t program_ = 0;
};

}  // namespace kw::runs
