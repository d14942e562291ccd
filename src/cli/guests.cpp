#include "cli/guests.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <future>
#include <map>
#include <set>
#include <sstream>

#include "cli/config.h"
#include "judge/instance.h"
#include "rivals/absent.h"

namespace kw::cli {
namespace {

using rivals::Framework;
using rivals::RivalFile;

// What nearly everyone wants to be compared with.
constexpr const char* kUsual[] = {"mnn", "onnxruntime"};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Why what was to be installed by this program is not there, by the environment. A run chooses its rivals once to plan
// and once to work.
std::map<std::string, std::string>& failed_here() {
  static std::map<std::string, std::string> failed;
  return failed;
}

// Says what it does, and where it cannot, why: in a line. With `again`, also what failed a short while ago.
Status install_telling(const RivalFile& rival, bool again) {
  if (setting("install") == "no") {
    return fail("it is not installed, and the setting install forbids it: kw rivals install {}", rival.name);
  }
  if (!rival.only_asked.empty()) {
    return fail("it is not installed, and takes {}: kw rivals install {}", rival.only_asked, rival.name);
  }
  const auto tried = failed_here().find(rival.environment().string());
  if (tried != failed_here().end()) return fail("{}", tried->second);
  if (const auto failed = rivals::failed_lately(rival); failed && !again) {
    fmt::print(stderr, "kw: without {}: {}, a while ago; kw rivals install {} tries again\n", rival.name, *failed,
               rival.name);
    return fail("{}", *failed);
  }
  fmt::print(stderr, "kw: installing {} {} to compare with, once; --rival none goes without\n", rival.name,
             rival.version());
  const Status installed = rivals::install(rival);
  if (!installed.ok()) {
    const std::string why = first_line(installed.error().message);
    fmt::print(stderr, "kw: {}; going on without it\n", why);
    failed_here()[rival.environment().string()] = why;
    return fail("{}", why);
  }
  return {};
}

// Several at the same time: much of it is waiting for the network.
void install_together(const std::vector<RivalFile>& missing) {
  std::vector<std::string> names;
  for (const RivalFile& rival : missing) names.push_back(rival.name + " " + rival.version());
  fmt::print(stderr, "kw: installing {} to compare with, about half a minute, once; --rival none goes without\n",
             fmt::join(names, " and "));
  std::vector<std::future<Status>> all;
  for (const RivalFile& rival : missing) {
    all.push_back(std::async(std::launch::async, [&rival] { return rivals::install(rival); }));
  }
  std::set<std::string> said;  // what keeps one away often keeps the other away too
  for (std::size_t i = 0; i < missing.size(); ++i) {
    const Status installed = all[i].get();
    if (installed.ok()) continue;
    const std::string why = first_line(installed.error().message);
    failed_here()[missing[i].environment().string()] = why;
    if (said.insert(why.substr(std::min(why.size(), missing[i].name.size()))).second) {
      fmt::print(stderr, "kw: {}; going on without it\n", why);
    }
  }
}

Status install_usual() {
  if (setting("install") == "no") return {};
  std::vector<RivalFile> missing;
  for (const char* name : kUsual) {
    KW_TRY(const RivalFile rival, rivals::find_rival(name, setting("python")));
    if (rival.installed()) continue;
    // Tried a short while ago, which this says: the other one has to wait as well.
    if (failed_here().contains(rival.environment().string()) || rivals::failed_lately(rival)) {
      [[maybe_unused]] const Status known = install_telling(rival, false);
      return {};
    }
    missing.push_back(rival);
  }
  if (!missing.empty()) install_together(missing);
  return {};
}

}  // namespace

Option Guests::option() {
  return {.name = "--rival",
          .value = "NAMES",
          .help =
              "frameworks to compare with: names with commas (mnn,onnxruntime), best (the fastest that is right), "
              "none; unless the setting rival says, all that are installed, among them mnn and onnxruntime, which are "
              "installed where they are missing"};
}

Result<Guests> Guests::chosen(const Arguments& arguments) {
  // Who is not timed needs nobody beside.
  if (arguments.has("--untimed")) return Guests();
  return chosen(setting(arguments, "rival"));
}

std::string Guests::names() const {
  if (best_) return "best";
  std::string names;
  for (const auto& framework : frameworks_) names += (names.empty() ? "" : ",") + framework->name();
  for (const auto& guest : absent_) names += (names.empty() ? "" : ",") + guest->name();
  return names.empty() ? "none" : names;
}

Result<Guests> Guests::chosen(const std::string& said) {
  Guests guests;
  guests.best_ = said == "best";
  if (said == "none") return guests;
  std::vector<RivalFile> wanted;
  if (said.empty() || said == "best" || said == "all") {
    KW_CHECK(install_usual());
    KW_TRY(wanted, rivals::all_rivals(setting("python")));
    std::erase_if(wanted, [](const RivalFile& rival) { return !rival.installed(); });
    if (guests.best_ && wanted.empty()) {
      return fail("no rival is installed to be the best: kw rivals install mnn, kw rivals install onnxruntime");
    }
  } else {
    std::istringstream words(said);
    for (std::string name; std::getline(words, name, ',');) {
      KW_TRY(RivalFile rival, rivals::find_rival(name, setting("python")));
      if (std::ranges::find(wanted, name, &RivalFile::name) != wanted.end()) return fail("{} is named twice", name);
      wanted.push_back(std::move(rival));
    }
  }
  for (RivalFile& rival : wanted) {
    const Status there = rival.installed() ? Status() : install_telling(rival, true);
    if (!there.ok()) {
      guests.absent_.push_back(std::make_unique<rivals::Absent>(rival.name, there.error().message));
      continue;
    }
    KW_TRY(Framework framework, Framework::open(std::move(rival)));
    guests.frameworks_.push_back(std::make_unique<Framework>(std::move(framework)));
  }
  return guests;
}

void Guests::start() const {
  for (const auto& framework : frameworks_) framework->start();
}

Result<std::vector<judge::Guest*>> Guests::of(const Task& task, int threads) const {
  std::vector<judge::Guest*> all;
  for (const auto& framework : frameworks_) all.push_back(framework.get());
  for (const auto& guest : absent_) all.push_back(guest.get());
  if (!best_) return all;
  KW_TRY(const judge::Instance instance, judge::make_instance(task, task.lengths, threads));
  judge::Guest* best = nullptr;
  double least_ns = 0;
  for (const auto& framework : frameworks_) {
    const rivals::Trial trial = framework->tried(instance, threads);
    if (!trial.right()) continue;
    if (best == nullptr || trial.net_ns() < least_ns) best = framework.get(), least_ns = trial.net_ns();
  }
  // Where nobody is right, the tables say of each why.
  if (best == nullptr) return all;
  return std::vector<judge::Guest*>{best};
}

}  // namespace kw::cli
