#include "models/runtime.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "base/json.h"
#include "base/process.h"
#include "rivals/worker.h"

namespace kw::models {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::seconds kMostTime{300};  // for loading and running a model

std::vector<Json> types_json(const std::vector<NamedType>& types) {
  std::vector<Json> rows;
  for (const auto& [name, type] : types) {
    std::vector<std::int64_t> shape(type.shape.begin(), type.shape.end());
    rows.push_back({{"name", name}, {"dtype", std::string(name_of(type.dtype))}, {"shape", shape}});
  }
  return rows;
}

Json terms_json(const RunTerms& terms, const fs::path& folder) {
  std::vector<Json> inputs = types_json(terms.inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto value = terms.fixed.find(terms.inputs[i].first);
    if (value != terms.fixed.end()) inputs[i]["value"] = value->second;
  }
  return {{"threads", terms.threads}, {"inputs", inputs},          {"given", terms.given.string()},
          {"seed", terms.seed},       {"folder", folder.string()}, {"seconds", terms.seconds}};
}

Result<Json> ask(const rivals::RivalFile& rival, const fs::path& folder, const Json& job) {
  KW_TRY(const fs::path data, data_folder());
  const fs::path question = folder / "job.json", answer = folder / "answer.json", log = folder / "log.txt";
  KW_CHECK(write_file(question, job.dump()));
  std::error_code error;
  fs::remove(answer, error);
  KW_TRY(const int code, run_program(rivals::confined_program({rival.python().string(), "-I", "-B",
                                                               (data / "rivals" / "shared" / "whole_model.py").string(),
                                                               question.string(), answer.string()}),
                                     log, false, kMostTime));
  if (code != 0) {
    const auto said = read_file(log);
    std::string last = said.ok() ? *said : "";
    while (last.ends_with('\n')) last.pop_back();
    last = last.substr(last.rfind('\n') == std::string::npos ? 0 : last.rfind('\n') + 1);
    return fail("ONNX Runtime {} ended with code {} while it worked on the model{}", rival.version(), code,
                last.empty() ? "" : ": " + last.substr(0, 300));
  }
  KW_TRY(const std::string text, read_file(answer, 256 << 20));
  Json json = Json::parse_quietly(text);
  if (!json.is_object()) return fail("ONNX Runtime's worker gave no answer");
  if (json.contains("error")) return fail("{}", json["error"].text());
  return json;
}

std::vector<NodeTime> node_times(const Json& rows) {
  std::vector<NodeTime> all;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Json& row = rows.at(i);
    all.push_back({row["name"].text(), row["op"].text(), row["ns"].get<double>()});
  }
  return all;
}

Difference difference_from(const Json& row) {
  Difference one{.output = row["output"].text()};
  one.count = 1;
  for (const std::int64_t length : row["shape"].get<std::vector<std::int64_t>>()) one.count *= length;
  const auto number = [&](const char* name) { return row.contains(name) ? row[name].get<double>() : 0.0; };
  if (row.contains("problem")) one.problem = row["problem"].text();
  one.max_error = number("max_error");
  one.mean_error = number("mean_error");
  one.largest = number("largest");
  one.own_error = number("own_error");
  one.different = static_cast<std::int64_t>(number("different"));
  one.own_different = static_cast<std::int64_t>(number("own_different"));
  return one;
}

DoubleError double_error_from(const Json& row) {
  return {.largest_error = row["largest_error"].get<double>(),
          .mean_error = row["mean_error"].get<double>(),
          .largest = row["largest"].get<double>(),
          .different = row["different"].get<std::int64_t>(),
          .count = row["count"].get<std::int64_t>()};
}

std::vector<ErrorsInDouble> errors_from(const Json& rows) {
  std::vector<ErrorsInDouble> all;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Json& row = rows.at(i);
    all.push_back({row["output"].text(), double_error_from(row["ours"]), double_error_from(row["runtime"])});
  }
  return all;
}

}  // namespace

std::string threads_text(int threads) { return threads == 1 ? "one thread" : fmt::format("{} threads", threads); }

Result<fs::path> inputs_file(const std::string& file) {
  KW_TRY([[maybe_unused]] const Descriptor there, open_to_read(file));
  return fs::absolute(file);
}

Result<WorkFolder> WorkFolder::make() {
  std::string name = (fs::temp_directory_path() / "kw_model_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    return fail("{}: no folder can be made there", fs::temp_directory_path().string());
  return WorkFolder(name);
}

WorkFolder::~WorkFolder() {
  std::error_code error;
  if (!path_.empty()) fs::remove_all(path_, error);
}

double Difference::allowed() const { return std::max({4 * own_error, 5 * double_error, 1e-4 * largest}); }

bool Difference::within() const {
  if (!problem.empty()) return false;
  return max_error <= allowed() && different <= std::max(own_different, count / 1000);
}

double ErrorsInDouble::allowed() const { return std::max(4 * runtime.largest_error, 3e-5 * ours.largest); }

bool ErrorsInDouble::within() const {
  return ours.count > 0 && ours.largest_error <= allowed() &&
         ours.different <= std::max(runtime.different, ours.count / 1000);
}

Result<Runtime> Runtime::open(rivals::RivalFile rival) {
  if (!rival.installed()) return fail("ONNX Runtime is not installed: kw rivals install {}", rival.name);
  return Runtime(std::move(rival));
}

Result<Profile> Runtime::profile(const fs::path& model, const fs::path& library, const RunTerms& terms) const {
  KW_TRY(const WorkFolder folder, WorkFolder::make());
  Json job = terms_json(terms, folder.path());
  job["do"] = "profile";
  job["model"] = model.string();
  job["library"] = library.string();
  KW_TRY(const Json answer, ask(rival_, folder.path(), job));
  try {
    Profile profile{.version = answer["version"].text(),
                    .total_ns = answer["total_ns"].get<std::vector<double>>(),
                    .fused = node_times(answer["fused"]),
                    .unfused = node_times(answer["unfused"])};
    KW_TRY(profile.optimized, read_file(answer["optimized"].text()));
    return profile;
  } catch (const JsonError& error) {
    return fail("ONNX Runtime's worker gave an answer that cannot be read: {}", error.what());
  }
}

Result<std::vector<Difference>> Runtime::record(const fs::path& model, const RunTerms& terms,
                                                const fs::path& to) const {
  KW_TRY(const WorkFolder folder, WorkFolder::make());
  Json job = terms_json(terms, folder.path());
  job["do"] = "record";
  job["model"] = model.string();
  job["to"] = to.string();
  KW_TRY(const Json answer, ask(rival_, folder.path(), job));
  try {
    std::vector<Difference> outputs;
    for (std::size_t i = 0; i < answer["outputs"].size(); ++i) {
      outputs.push_back(difference_from(answer["outputs"].at(i)));
    }
    return outputs;
  } catch (const JsonError& error) {
    return fail("ONNX Runtime's worker gave an answer that cannot be read: {}", error.what());
  }
}

Result<Race> Runtime::race(const std::vector<ModelVersion>& all, const RunTerms& terms, int cases) const {
  KW_TRY(const WorkFolder folder, WorkFolder::make());
  Json job = terms_json(terms, folder.path());
  job["do"] = "race";
  job["cases"] = cases;
  std::vector<Json> sessions;
  for (const ModelVersion& one : all) {
    sessions.push_back({{"name", one.name},
                        {"model", one.model.string()},
                        {"library", one.library.string()},
                        {"standalone", one.standalone.string()}});
  }
  if (!terms.reference.file.empty()) {
    std::vector<std::vector<std::int64_t>> shapes;
    for (const Shape& shape : terms.reference.shapes) shapes.emplace_back(shape.begin(), shape.end());
    job["reference"] = {{"file", terms.reference.file.string()}, {"shapes", shapes}};
  }
  job["outputs"] = types_json(terms.outputs);
  job["sessions"] = sessions;
  KW_TRY(const Json answer, ask(rival_, folder.path(), job));
  try {
    Race race{.version = answer["version"].text()};
    for (const ModelVersion& one : all) {
      race.times_ns[one.name] = answer["times_ns"][one.name].get<std::vector<double>>();
      const Json& outputs = answer["outputs"][one.name];
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        auto& rows = race.cases[one.name].emplace_back();
        for (std::size_t k = 0; k < outputs.at(i).size(); ++k) {
          rows.push_back(difference_from(outputs.at(i).at(k)));
          if (k < terms.reference.runtime_errors.size()) rows.back().double_error = terms.reference.runtime_errors[k];
        }
      }
      if (!terms.reference.file.empty()) race.in_double[one.name] = errors_from(answer["in_double"][one.name]);
    }
    return race;
  } catch (const JsonError& error) {
    return fail("ONNX Runtime's worker gave an answer that cannot be read: {}", error.what());
  }
}

}  // namespace kw::models
