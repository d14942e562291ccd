#include "runs/rivals.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <future>
#include <map>
#include <set>
#include <sstream>

#include "base/nearest.h"
#include "rivals/absent.h"
#include "targets/instance.h"

namespace kw::runs {
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

// Tells what it does, and where it cannot, why: in a line. With `again`, also what failed a short while ago.
Status install_telling(const RivalFile& rival, const RivalSetup& setup, bool again) {
  if (!setup.may_install) {
    return fail("it is not installed, and the setting install forbids it: kw rivals install {}", rival.name);
  }
  if (!rival.only_asked.empty()) {
    return fail("it is not installed, and takes {}: kw rivals install {}", rival.only_asked, rival.name);
  }
  const auto tried = failed_here().find(rival.environment().string());
  if (tried != failed_here().end()) return fail("{}", tried->second);
  if (const auto failed = rivals::failed_lately(rival); failed && !again) {
    setup.tell(
        fmt::format("without {}: {}, a while ago; kw rivals install {} tries again", rival.name, *failed, rival.name));
    return fail("{}", *failed);
  }
  setup.tell(
      fmt::format("installing {} {} to compare with, once; --rival none goes without", rival.name, rival.version()));
  const Status installed = rivals::install(rival);
  if (!installed.ok()) {
    const std::string why = first_line(installed.error().message);
    setup.tell(why + "; going on without it");
    failed_here()[rival.environment().string()] = why;
    return fail("{}", why);
  }
  return {};
}

// Several at the same time: much of it is waiting for the network.
void install_together(const std::vector<RivalFile>& missing, const RivalSetup& setup) {
  std::vector<std::string> names;
  for (const RivalFile& rival : missing) names.push_back(rival.name + " " + rival.version());
  setup.tell(fmt::format("installing {} to compare with, about half a minute, once; --rival none goes without",
                         fmt::join(names, " and ")));
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
      setup.tell(why + "; going on without it");
    }
  }
}

Status install_usual(const RivalSetup& setup) {
  if (!setup.may_install) return {};
  std::vector<RivalFile> missing;
  for (const char* name : kUsual) {
    KW_TRY(const RivalFile rival, rivals::find_rival(name, setup.python));
    if (rival.installed()) continue;
    // Tried a short while ago, which this says: the other one has to wait as well.
    if (failed_here().contains(rival.environment().string()) || rivals::failed_lately(rival)) {
      [[maybe_unused]] const Status known = install_telling(rival, setup, false);
      return {};
    }
    missing.push_back(rival);
  }
  if (!missing.empty()) install_together(missing, setup);
  return {};
}

// With commas between them.
Result<std::vector<RivalFile>> rivals_by_name(const std::string& named, const RivalSetup& setup) {
  std::vector<RivalFile> wanted;
  std::istringstream words(named);
  for (std::string name; std::getline(words, name, ',');) {
    KW_TRY(RivalFile rival, rivals::find_rival(name, setup.python));
    if (std::ranges::find(wanted, name, &RivalFile::name) != wanted.end()) return fail("{} is named twice", name);
    wanted.push_back(std::move(rival));
  }
  return wanted;
}

}  // namespace

Result<rivals::RivalFile> ready_rival(const std::string& name, const RivalSetup& setup) {
  KW_TRY(RivalFile rival, rivals::find_rival(name, setup.python));
  if (rival.installed()) return rival;
  const Status installed = install_telling(rival, setup, true);
  if (!installed.ok()) return fail("{}: {}", name, installed.error().message);
  return rival;
}

std::string Rivals::names() const {
  if (best_) return "best";
  std::string names;
  for (const auto& framework : frameworks_) names += (names.empty() ? "" : ",") + framework->name();
  for (const auto& framework : on_gpu_) names += (names.empty() ? "" : ",") + framework->name();
  for (const auto& framework : absent_) names += (names.empty() ? "" : ",") + framework->name();
  return names.empty() ? "none" : names;
}

Result<Rivals> Rivals::choose(const std::string& named, const RivalSetup& setup) {
  if (setup.on_device) return choose_on_device(named, setup);
  if (setup.gpu && named != "none") return choose_on_gpu(named, setup);
  Rivals chosen;
  chosen.best_ = named == "best";
  if (named == "none") return chosen;
  std::vector<RivalFile> wanted;
  if (named.empty() || named == "best" || named == "all") {
    KW_CHECK(install_usual(setup));
    KW_TRY(wanted, rivals::all_rivals(setup.python));
    std::erase_if(wanted, [](const RivalFile& rival) { return !rival.installed(); });
    if (chosen.best_ && wanted.empty()) {
      return fail("no rival is installed to be the best: kw rivals install mnn, kw rivals install onnxruntime");
    }
  } else {
    KW_TRY(wanted, rivals_by_name(named, setup));
  }
  for (RivalFile& rival : wanted) {
    const Status there = rival.installed() ? Status() : install_telling(rival, setup, true);
    if (!there.ok()) {
      chosen.absent_.push_back(std::make_unique<rivals::Absent>(rival.name, there.error().message));
      continue;
    }
    KW_TRY(Framework framework, Framework::open(std::move(rival)));
    chosen.frameworks_.push_back(std::make_unique<Framework>(std::move(framework)));
  }
  return chosen;
}

Result<Rivals> Rivals::choose_on_device(const std::string& named, const RivalSetup& setup) {
  Rivals chosen;
  chosen.on_device_ = true;
  chosen.best_ = named == "best";
  if (named == "none") return chosen;
  const bool unnamed = named.empty() || named == "best" || named == "all";
  KW_TRY(
      std::vector<RivalFile> wanted,
      rivals_by_name(unnamed ? fmt::format("{}", fmt::join(rivals::ready_on(*setup.on_device), ",")) : named, setup));
  for (RivalFile& rival : wanted) {
    // Models for a library are converted by what is installed here.
    const bool converts = setup.on_device->libraries.contains(rival.name) && rival.name != "onnxruntime";
    if (converts && !rival.installed()) {
      if (const Status there = install_telling(rival, setup, true); !there.ok()) {
        chosen.absent_.push_back(std::make_unique<rivals::Absent>(rival.name, there.error().message));
        continue;
      }
    }
    auto site =
        rivals::on_device(rival, {.there = *setup.on_device, .may_install = setup.may_install, .tell = setup.tell});
    chosen.frameworks_.push_back(std::make_unique<Framework>(Framework::open_at(std::move(site), std::move(rival))));
  }
  return chosen;
}

Result<Rivals> Rivals::choose_on_gpu(const std::string& named, const RivalSetup& setup) {
  KW_TRY(std::vector<RivalFile> all, rivals::gpu_rivals(setup.python));
  std::vector<std::string> names, wanted;
  for (const RivalFile& rival : all) names.push_back(rival.name);
  const bool unnamed = named.empty() || named == "best" || named == "all";
  std::istringstream words(named);
  for (std::string name; !unnamed && std::getline(words, name, ',');) {
    if (std::ranges::find(names, name) == names.end()) {
      return fail("no rival '{}' runs beside kernels of a GPU{}; those that do: {}", name, nearest_hint(name, names),
                  fmt::join(names, ", "));
    }
    wanted.push_back(std::move(name));
  }
  Rivals chosen;
  for (RivalFile& rival : all) {
    const bool takes_part = unnamed ? rival.own.has_value() : std::ranges::count(wanted, rival.name) > 0;
    if (takes_part) chosen.on_gpu_.push_back(std::make_unique<rivals::OnGpu>(std::move(rival), *setup.gpu));
  }
  return chosen;
}

void Rivals::start() const {
  for (const auto& framework : on_gpu_) framework->start();
  if (on_device_) return;  // the judge brings the device, later
  for (const auto& framework : frameworks_) framework->start();
}

Result<std::vector<judge::FrameworkRival*>> Rivals::of(const Task& task, int threads) const {
  std::vector<judge::FrameworkRival*> all;
  for (const auto& framework : frameworks_) all.push_back(framework.get());
  for (const auto& framework : on_gpu_) all.push_back(framework.get());
  for (const auto& framework : absent_) all.push_back(framework.get());
  if (!best_) return all;
  KW_TRY(const targets::Instance instance, targets::make_instance(task, task.lengths, threads));
  judge::FrameworkRival* best = nullptr;
  double least_ns = 0;
  for (const auto& framework : frameworks_) {
    // On a device nothing is tried before it is there: the first time all take part.
    const rivals::SettingTrial trial =
        on_device_ ? framework->kept_trial(instance, threads) : framework->tried(instance, threads);
    if (!trial.right()) continue;
    if (best == nullptr || trial.net_ns() < least_ns) best = framework.get(), least_ns = trial.net_ns();
  }
  // Where no framework is right, the tables say of each why.
  if (best == nullptr) return all;
  return std::vector<judge::FrameworkRival*>{best};
}

}  // namespace kw::runs
