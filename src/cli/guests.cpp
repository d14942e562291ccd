#include "cli/guests.h"

#include <cstdlib>
#include <sstream>

#include "judge/instance.h"

namespace kw::cli {
namespace {

using rivals::RivalFile;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<std::vector<RivalFile>> named(const std::string& names) {
  std::vector<RivalFile> all;
  std::istringstream words(names);
  for (std::string name; std::getline(words, name, ',');) {
    KW_TRY(RivalFile rival, rivals::find_rival(name));
    if (!rival.installed()) {
      if (variable("KW_INSTALL") == "no") {
        return fail("{} is not installed, and KW_INSTALL=no forbids it: kw rivals install {}", name, name);
      }
      if (rival.only_asked)
        return fail("{} is large and only installed when asked for: kw rivals install {}", name, name);
      KW_CHECK(rivals::install(rival));
    }
    all.push_back(std::move(rival));
  }
  return all;
}

}  // namespace

Option Guests::option() {
  return {.name = "--rival",
          .value = "NAMES",
          .help =
              "frameworks to compare with: names with commas (mnn,onnxruntime), best (the fastest that is right), "
              "none; unless said, or KW_RIVAL says, all that are installed"};
}

Result<Guests> Guests::chosen(const Arguments& arguments) {
  // Who is not timed needs nobody beside.
  if (arguments.has("--untimed")) return Guests();
  return chosen(arguments.has("--rival") ? arguments.text("--rival") : variable("KW_RIVAL"));
}

std::string Guests::names() const {
  if (best_) return "best";
  std::string names;
  for (const auto& framework : frameworks_) names += (names.empty() ? "" : ",") + framework->name();
  return names.empty() ? "none" : names;
}

Result<Guests> Guests::chosen(const std::string& said) {
  Guests guests;
  guests.best_ = said == "best";
  if (said == "none") return guests;
  std::vector<RivalFile> wanted;
  if (said.empty() || said == "best" || said == "all") {
    KW_TRY(wanted, rivals::all_rivals());
    std::erase_if(wanted, [](const RivalFile& rival) { return !rival.installed(); });
    if (guests.best_ && wanted.empty()) {
      return fail("no rival is installed to be the best: kw rivals install mnn, kw rivals install onnxruntime");
    }
  } else {
    KW_TRY(wanted, named(said));
  }
  for (RivalFile& rival : wanted) {
    KW_TRY(rivals::Framework framework, rivals::Framework::open(std::move(rival)));
    guests.frameworks_.push_back(std::make_unique<rivals::Framework>(std::move(framework)));
  }
  return guests;
}

Result<std::vector<judge::Guest*>> Guests::of(const Task& task, int threads) const {
  std::vector<judge::Guest*> all;
  for (const auto& framework : frameworks_) all.push_back(framework.get());
  if (!best_) return all;
  KW_TRY(const judge::Instance instance, judge::make_instance(task, task.lengths, threads));
  judge::Guest* best = nullptr;
  double least_ns = 0;
  for (const auto& framework : frameworks_) {
    if (framework->enter(instance, threads)) continue;
    const double time_ns = framework->trial().time_ns - framework->overhead_ns();
    if (best == nullptr || time_ns < least_ns) best = framework.get(), least_ns = time_ns;
  }
  // Where nobody is right, the tables say of each why.
  if (best == nullptr) return all;
  return std::vector<judge::Guest*>{best};
}

}  // namespace kw::cli
