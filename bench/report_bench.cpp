// Prints the report's figures: kw_report_bench
//
// A made-up search of 190 tasks and 20,000 candidates is written into a store in the folder for temporary files, which
// takes a minute; then `kw report` makes its page.
#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "base/paired_ratio.h"
#include "report/made_up_run.h"
#include "report/page_data.h"

namespace kw::report {
namespace {

using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

constexpr int kCandidatesOfATask = 106;  // 20,140 of 190 tasks
constexpr int kTimes = 5;

double s_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double mb_of(std::uintmax_t bytes) { return static_cast<double>(bytes) / 1e6; }

// Kernels whose source is not in the page.
int left_out_of(const std::string& data) {
  int count = 0;
  const Json json = Json::parse(data);
  for (const auto& part : json["runs"][0]["parts"])
    count += !part["best"].is_null() && part["best"]["source"].is_null();
  return count;
}

Status print_figures(const fs::path& folder) {
  KW_TRY(store::Store store, store::Store::open(folder));
  KW_CHECK(store.database().execute("PRAGMA synchronous = OFF"));  // only to fill it in a minute
  KW_TRY(const auto tasks, snapshots_of_suite("mobilekernelbench"));
  KW_TRY(const std::int64_t run, add_made_up_run(store, tasks, {.seed = 9, .candidates = kCandidatesOfATask}));
  KW_TRY(const store::RunSummary summary, store.run(run));

  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / "kw", page = folder / "page.html";
  std::vector<double> times_s;
  for (int i = 0; i < kTimes; ++i) {
    const auto begin = Clock::now();
    const std::string command = fmt::format("{} report {} --store {} --out {} > /dev/null", program.string(),
                                            summary.name(), folder.string(), page.string());
    if (std::system(command.c_str()) != 0) return fail("kw report failed");
    times_s.push_back(s_since(begin));
  }
  KW_TRY(const fs::path data, data_folder());
  KW_TRY(const std::string shown, page_data(store, std::vector{run}, "bench", ""));
  fmt::print("report of {} tasks, {} candidates: {:.2f} s, median of {}; {:.2f} MB, of which data {:.2f} MB\n",
             tasks.size(), summary.planned, median_of(times_s), kTimes, mb_of(fs::file_size(page)),
             mb_of(shown.size()));
  fmt::print("the plotting library in it: {:.2f} MB\n", mb_of(fs::file_size(data / "javascript" / "d3.min.js")));
  fmt::print(
      "in the page are the sources of the chosen kernels ({} left out) and their ancestors' differences; no other "
      "candidate's source\n",
      left_out_of(shown));
  return {};
}

}  // namespace
}  // namespace kw::report

int main() {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("kw_report_bench_{}", ::getpid());
  std::filesystem::create_directories(folder);
  const kw::Status status = kw::report::print_figures(folder);
  std::filesystem::remove_all(folder);
  if (!status.ok()) return fmt::print(stderr, "{}\n", status.error().message), 2;
  return 0;
}
