#include "models/sizes.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/clock.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/inside.h"
#include "base/units.h"
#include "compose/outside_text.h"
#include "models/library.h"
#include "models/reference.h"
#include "suites/onnx_dispatch.h"

namespace kw::models {
namespace fs = std::filesystem;
namespace {

constexpr char kPicking[] = "picking";
constexpr std::size_t kMostSizes = 16, kMostUnseen = 3;
constexpr double kSeen_s = 6, kUnseen_s = 4;
constexpr double kNoticed = 0.98;  // a size without kernels must not get slower than this

// The result for one size, with all that is needed to make it again.
struct SizeChoice {
  Lengths lengths;
  std::string why;  // there is none
  std::vector<ChosenKind> kinds;
};

Json lengths_json(const Lengths& lengths) {
  Json json = Json::object();
  for (const auto& [name, value] : lengths) json[name] = value;
  return json;
}

Lengths with(Lengths dims, const Lengths& more) {
  for (const auto& [name, value] : more) dims[name] = value;
  return dims;
}

Json choice_json(const SizeChoice& choice) {
  std::vector<Json> kinds;
  for (const auto& [kind, kernel] : choice.kinds) {
    std::vector<std::vector<std::size_t>> groups;
    for (const Group& group : kind.groups) groups.push_back(group.nodes);
    kinds.push_back({{"op", kind.op},
                     {"groups", groups},
                     {"is_region", kind.is_region},
                     {"technique", kernel.technique},
                     {"file", kernel.file},
                     {"source", kernel.source},
                     {"settings", kernel.settings},
                     {"uses_threads", kernel.uses_threads}});
  }
  return {{"lengths", lengths_json(choice.lengths)}, {"why", choice.why}, {"kinds", kinds}};
}

Result<SizeChoice> choice_from(const Json& json, const Model& model) {
  SizeChoice choice{.lengths = json["lengths"].get<Lengths>(), .why = json["why"].text(), .kinds = {}};
  for (std::size_t i = 0; i < json["kinds"].size(); ++i) {
    const Json& row = json["kinds"].at(i);
    ChosenKind one;
    one.kind.op = row["op"].text();
    one.kind.is_region = row["is_region"].get<bool>();
    for (auto& nodes : row["groups"].get<std::vector<std::vector<std::size_t>>>()) {
      if (nodes.empty() || std::ranges::any_of(nodes, [&](std::size_t node) { return node >= model.count(); })) {
        return fail("it names nodes that the model does not have");
      }
      one.kind.groups.push_back({std::move(nodes)});
    }
    if (one.kind.groups.empty()) return fail("a kernel of it is for no nodes");
    KW_TRY(one.kind.task, model.tasks().task(one.kind.groups[0].nodes));
    one.kernel = {.technique = row["technique"].text(),
                  .file = row["file"].text(),
                  .source = row["source"].text(),
                  .settings = row["settings"].get<Settings>(),
                  .alone_ns = std::nullopt,
                  .uses_threads = row["uses_threads"].get<bool>()};
    choice.kinds.push_back(std::move(one));
  }
  return choice;
}

class OverWork {
 public:
  OverWork(const OverOrder& order, const Runtime& runtime, const Search& search, const Tell& tell, WorkFolder folder)
      : order_(order), runtime_(runtime), search_(search), tell_(tell), folder_(std::move(folder)) {}

  Result<OverOutcome> run(const fs::path& out) {
    KW_TRY(const std::string bytes, read_file(order_.file));
    out_ = out;
    choices_file_ = choices_file(order_, bytes);
    if (const auto before = read_file(choices_file_); before.ok()) kept_ = Json::parse_quietly(*before);
    OverOutcome outcome{.runtime = "ONNX Runtime " + runtime_.version()};
    std::size_t left = static_cast<std::size_t>(std::ranges::count(order_.sizes, true, &runs::OverSize::seen));
    for (const runs::OverSize& size : order_.sizes) {
      if (!size.seen) continue;
      KW_TRY(SizeChoice choice, choice_at(size.lengths, static_cast<double>(left--)));
      outcome.sizes.push_back({.lengths = size.lengths, .seen = true, .kept = choice.why.empty(), .why = choice.why});
      choices_.push_back(std::move(choice));
    }
    KW_CHECK(hold_to_original(outcome));
    if (outcome.gained) KW_CHECK(write_result(outcome));
    std::error_code error;
    fs::remove(choices_file_, error);  // the next time is another work
    return outcome;
  }

 private:
  Result<SizeChoice> choice_at(const Lengths& lengths, double sizes_left) {
    KW_TRY(const Model model, Model::open(order_.file, with(order_.dims, lengths), Model::KnownBranches::in_place));
    if (kept_.is_object() && kept_.contains("choices")) {
      for (std::size_t i = 0; i < kept_["choices"].size(); ++i) {
        try {
          if (kept_["choices"].at(i)["lengths"].get<Lengths>() != lengths) continue;
          auto choice = choice_from(kept_["choices"].at(i), model);
          if (!choice.ok()) return at(choices_file_.string(), choice.error());
          tell_(fmt::format("{}: chosen before", runs::text_of_lengths(lengths)));
          return choice;
        } catch (const JsonError& error) {
          return fail("{}: {}", choices_file_.string(), error.what());
        }
      }
    }
    tell_(fmt::format("{}:", runs::text_of_lengths(lengths)));
    RunTerms terms = terms_of(model);
    terms.threads = order_.threads;
    const fs::path place = folder_.path() / fmt::format("choice_{}", choices_.size());
    std::error_code error;
    fs::create_directories(place, error);
    const double within_s = (order_.within_s - spent_s_) / std::max(1.0, sizes_left);
    const auto start = Clock::now();
    KW_TRY(PutBack found, optimize(model, runtime_, terms, order_.device, within_s, place, search_, tell_));
    spent_s_ += std::min(within_s, seconds_since(start));
    SizeChoice choice{.lengths = lengths, .why = found.gained ? "" : found.why, .kinds = std::move(found.chosen)};
    if (!kept_.is_object()) kept_ = {{"choices", std::vector<Json>()}};
    std::vector<Json> all;
    for (std::size_t i = 0; i < kept_["choices"].size(); ++i) all.push_back(kept_["choices"].at(i));
    all.push_back(choice_json(choice));
    kept_["choices"] = all;
    fs::create_directories(choices_file_.parent_path(), error);
    KW_CHECK(write_file(choices_file_, kept_.dump(1) + "\n"));
    return choice;
  }

  // The choices in one model and one library, whose operators are told apart by the number of the size.
  Status put_together(const OverOutcome& outcome) {
    std::vector<suites::OnnxVariant> variants;
    std::vector<LibraryKernel> kernels;
    for (std::size_t k = 0; k < choices_.size(); ++k) {
      if (!outcome.sizes[k].kept) continue;
      KW_TRY(const Model model,
             Model::open(order_.file, with(order_.dims, choices_[k].lengths), Model::KnownBranches::in_place));
      std::vector<GroupKind> kinds;
      std::vector<Chosen> chosen;
      for (const auto& [kind, kernel] : choices_[k].kinds) {
        for (std::size_t g = 0; g < kind.groups.size(); ++g) chosen.push_back({kinds.size(), g});
        kinds.push_back(kind);
        kinds.back().op = fmt::format("{}_size_{}", kind.op, k);
        kernels.push_back(library_kernel(kinds.back(), kernel));
      }
      suites::OnnxVariant variant{.bytes = {}, .shapes = {}, .values = {}};
      KW_TRY(variant.bytes, model_with(model, kinds, chosen, domain()));
      for (const auto& [name, type] : model.tasks().inputs()) variant.shapes.emplace_back(name, type.shape);
      for (const auto& [name, value] : model.tasks().given_values()) variant.values[name] = value.integer(0);
      variants.push_back(std::move(variant));
    }
    std::error_code error;
    fs::remove_all(library_folder(), error);
    KW_CHECK(write_library(library_folder(), kernels, domain(), order_.device));
    KW_TRY(const suites::OnnxModel original, suites::read_onnx(order_.file));
    KW_TRY(const std::string bytes, read_file(order_.file));
    KW_TRY(const std::string whole, suites::dispatch_onnx(original, bytes, variants));
    return write_file(folder_.path() / "model.onnx", whole);
  }

  Status hold_to_original(OverOutcome& outcome) {
    for (bool changed = true; changed;) {
      changed = false;
      if (std::ranges::none_of(outcome.sizes, &SizeOutcome::kept)) {
        outcome.why = "at no size was the model faster with kernels of its own";
        return {};
      }
      tell_("building one library for all sizes");
      KW_CHECK(put_together(outcome));
      for (SizeOutcome& size : outcome.sizes) {
        if (!size.kept) continue;
        tell_(fmt::format("comparing with the original at {}", runs::text_of_lengths(size.lengths)));
        KW_TRY(const std::string why, compare(size, kSeen_s));
        size.kept = why.empty();
        size.why = why;
        changed = changed || !size.kept;
      }
    }
    return hold_unseen(outcome);
  }

  // Why the model that picks kernels by size is not used at this size; empty: it is faster.
  Result<std::string> compare(SizeOutcome& size, double seconds) {
    KW_TRY(const Model model, Model::open(order_.file, with(order_.dims, size.lengths)));
    RunTerms terms = terms_of(model);
    terms.threads = order_.threads;
    terms.seconds = seconds;
    terms.reference = make_reference(model, runtime_, terms, folder_.path());
    const fs::path original = fs::absolute(order_.file);
    KW_TRY(const Race race, runtime_.race({{kOriginal, original},
                                           {kTwin, original},
                                           {kPicking, folder_.path() / "model.onnx", library_folder() / kLibraryFile}},
                                          terms, 2));
    size.original_ns = median_of(race.times_ns.at(kOriginal));
    size.model_ns = median_of(race.times_ns.at(kPicking));
    size.speedup = ratio_of(race, kPicking, kOriginal);
    size.twin = ratio_of(race, kTwin, kOriginal);
    size.outputs = race.cases.at(kPicking).front();
    return why_taken_back(race, kPicking);
  }

  // Sizes between those that have kernels run the original's nodes; picking them must not cost what one would notice.
  Status hold_unseen(OverOutcome& outcome) {
    outcome.gained = true;
    std::size_t held = 0;
    for (const runs::OverSize& one : order_.sizes) {
      if (one.seen || held == kMostUnseen) continue;
      ++held;
      SizeOutcome size{.lengths = one.lengths, .why = "no choice was made for it: the original's nodes run"};
      tell_(fmt::format("comparing with the original at {}, which no kernel was made for",
                        runs::text_of_lengths(size.lengths)));
      KW_TRY(const std::string why, compare(size, kUnseen_s));
      const bool is_right = std::ranges::all_of(size.outputs, &Difference::within);
      const bool is_slower = size.speedup.median < kNoticed && size.speedup.high < std::min(1.0, size.twin.low);
      if (!is_right || is_slower) {
        outcome.gained = false;
        outcome.why = fmt::format("at {}, which no kernel was made for, {}", runs::text_of_lengths(size.lengths),
                                  is_right ? "picking costs more than one would not notice" : why);
      }
      outcome.sizes.push_back(std::move(size));
    }
    return {};
  }

  Status write_result(OverOutcome& outcome) {
    KW_CHECK(hand_over_library(library_folder(), out_));
    KW_TRY(const fs::path data, data_folder());
    const fs::path examples = data / "kernels" / "models";
    for (const auto& [name, from] : {std::pair<const char*, fs::path>("model.onnx", folder_.path() / "model.onnx"),
                                     {"run.py", examples / "run.py"},
                                     {"run.c", examples / "run.c"}}) {
      KW_TRY(const std::string content, read_file(from));
      KW_CHECK(write_inside(out_, name, content));
      outcome.files.push_back(out_ / name);
    }
    for (const char* name : {kLibraryFile, "library", "report.json"}) outcome.files.push_back(out_ / name);
    return write_inside(out_, "report.json", over_as_json(outcome));
  }

  fs::path library_folder() const { return folder_.path() / "library"; }
  std::string domain() const { return "kernelwright." + compose::file_stem(order_.file.stem().string()); }

  const OverOrder& order_;
  const Runtime& runtime_;
  const Search& search_;
  const Tell& tell_;
  const WorkFolder folder_;
  fs::path out_;
  fs::path choices_file_;
  Json kept_;  // what it holds
  double spent_s_ = 0;
  std::vector<SizeChoice> choices_;  // of each size that is seen
};

Result<std::vector<runs::OverSize>> listed_sizes(const std::string& text) {
  const std::size_t equals = text.find('=');
  const auto refused = [&] {
    return fail("--over takes a length and its range or its values, such as N=1..64 or N=1,8,64, not '{}'", text);
  };
  if (equals == std::string::npos || equals == 0) return refused();
  const std::string name = text.substr(0, equals);
  std::set<std::int64_t> values;
  for (std::size_t at = equals; at != std::string::npos && at < text.size();) {
    const std::size_t end = text.find(',', at + 1);
    const std::string part = text.substr(at + 1, end == std::string::npos ? end : end - at - 1);
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || stop != part.data() + part.size() || value < 1) return refused();
    if (!values.insert(value).second) return fail("--over {}: {} is given twice", name, value);
    at = end;
  }
  std::vector<runs::OverSize> sizes;
  for (const std::int64_t value : values) {
    if (!sizes.empty()) {
      const std::int64_t middle = (sizes.back().lengths.at(name) + value) / 2;
      if (!values.contains(middle)) sizes.push_back({{{name, middle}}, false});
    }
    sizes.push_back({{{name, value}}, true});
  }
  return sizes;
}

}  // namespace

Result<std::vector<runs::OverSize>> sizes_of(const std::vector<std::string>& over) {
  std::vector<runs::OverSize> sizes;
  if (over.size() == 1 && over[0].find("..") == std::string::npos) {
    KW_TRY(sizes, listed_sizes(over[0]));
  } else {
    KW_TRY(const std::vector<runs::OverRange> ranges, runs::parse_over(over));
    sizes = runs::sizes_over(ranges);
  }
  const auto seen = static_cast<std::size_t>(std::ranges::count(sizes, true, &runs::OverSize::seen));
  if (seen > kMostSizes) return fail("--over: {} sizes are given, and at most {} get kernels", seen, kMostSizes);
  return sizes;
}

fs::path choices_file(const OverOrder& order, std::string_view model_bytes) {
  std::string text = order.device + fmt::format(" {} {} ", order.threads, lengths_json(order.dims).dump());
  for (const runs::OverSize& size : order.sizes) text += lengths_json(size.lengths).dump();
  return cache_folder() / "models" / fmt::format("{:016x}{:016x}.json", hash_of(model_bytes), hash_of(text));
}

Result<OverOutcome> optimize_over(const OverOrder& order, const Runtime& runtime, const fs::path& out,
                                  const Search& search, const Tell& tell) {
  if (order.sizes.empty()) return fail("--over names no size");
  for (const auto& [name, value] : order.sizes.front().lengths) {
    if (order.dims.contains(name)) return fail("--over {}: --dim gives it a value too", name);
  }
  KW_TRY(WorkFolder folder, WorkFolder::make());
  return OverWork(order, runtime, search, tell, std::move(folder)).run(out);
}

std::string over_as_text(const OverOutcome& outcome) {
  std::string text =
      fmt::format("{:<24} {:>11} {:>11}  {:<22} {:<22} {}\n", "SIZE", "ORIGINAL", "MODEL", "SPEED", "TWIN", "KERNELS");
  const auto row = [&](const SizeOutcome& one) {
    const bool timed = one.original_ns > 0;
    text += fmt::format("{:<24} {:>11} {:>11}  {:<22} {:<22} {}\n", runs::text_of_lengths(one.lengths).substr(0, 24),
                        timed ? time_text(one.original_ns) : "-", timed ? time_text(one.model_ns) : "-",
                        timed ? ratio_text(one.speedup) : "-", timed ? ratio_text(one.twin) : "-",
                        one.kept ? "its own" : one.why);
  };
  std::ranges::for_each(outcome.sizes, row);
  if (!outcome.gained) return text + fmt::format("\nkeep the model as it is: {}\n", outcome.why);
  text += fmt::format("\nother sizes run the original's nodes, in {}\n", outcome.runtime);
  for (const fs::path& file : outcome.files) text += fmt::format("wrote      {}\n", file.string());
  return text;
}

std::string over_as_json(const OverOutcome& outcome) {
  std::vector<Json> sizes;
  for (const SizeOutcome& one : outcome.sizes) {
    Json row = {{"lengths", lengths_json(one.lengths)}, {"seen", one.seen}, {"kept", one.kept}, {"why", one.why}};
    if (one.original_ns > 0) {
      row["original_ns"] = one.original_ns;
      row["model_ns"] = one.model_ns;
      row["speedup"] = ratio_json(one.speedup);
      row["twin"] = ratio_json(one.twin);
      double error = 0, allowed = 0;
      for (const Difference& output : one.outputs) {
        error = std::max(error, output.max_error);
        allowed = std::max(allowed, output.allowed());
      }
      row["max_error"] = error;
      row["allowed"] = allowed;
    }
    sizes.push_back(std::move(row));
  }
  std::vector<std::string> files;
  for (const fs::path& file : outcome.files) files.push_back(file.string());
  return Json{{"gained", outcome.gained},
              {"why", outcome.why},
              {"runtime", outcome.runtime},
              {"sizes", sizes},
              {"files", files}}
             .dump(1) +
         "\n";
}

}  // namespace kw::models
