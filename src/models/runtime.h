// ONNX Runtime at work on whole models: where its time goes, and versions of a model side by side.
//
// It runs in its own Python environment (src/rivals/catalog.h), one process a question; what is asked and answered
// stands in rivals/shared/whole_model.py. A model from outside may make it crash or never answer: that is an Error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "core/tensor.h"
#include "rivals/catalog.h"

namespace kw::models {

// A folder for files that are thrown away with the object.
class WorkFolder {
 public:
  static Result<WorkFolder> make();
  WorkFolder(WorkFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ~WorkFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit WorkFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

using NamedType = std::pair<std::string, TensorType>;

// The .npz file that a user names: a regular file, so that reading it cannot block.
Result<std::filesystem::path> inputs_file(const std::string& file);

// The right outputs for the first set of inputs (reference.h): float64 or int64 of all of them, one behind the other.
struct Reference {
  std::filesystem::path file = {};          // empty: there is none
  std::string why_none = {};                // where one was asked for
  std::vector<Shape> shapes = {};           // of each output
  std::vector<double> runtime_errors = {};  // of each output, the largest of the runtime's own
};

// What a model is run with.
struct RunTerms {
  std::vector<NamedType> inputs;
  std::filesystem::path given = {};                // an .npz file with values; empty: drawn
  std::map<std::string, std::int64_t> fixed = {};  // inputs of one number that always have this value
  int threads = 1;
  std::uint64_t seed = 1;
  double seconds = 3;
  std::vector<NamedType> outputs = {};  // where a version without a framework runs
  Reference reference = {};             // what a race holds the outputs of all versions to
};

// "one thread", "2 threads"
std::string threads_text(int threads);

// A node of the graph that the runtime made of a model.
struct NodeTime {
  std::string name;
  std::string op;
  double ns = 0;  // of a call of the model
};

struct Profile {
  std::string version;
  std::vector<double> total_ns;   // of whole calls
  std::vector<NodeTime> fused;    // with all of the runtime's optimisations
  std::vector<NodeTime> unfused;  // with none; empty where a library was loaded
  std::string optimized;          // the graph that was run, as an ONNX file
};

// One version of a model.
struct ModelVersion {
  std::string name;
  std::filesystem::path model;
  std::filesystem::path library = {};     // of custom operators; empty: none
  std::filesystem::path standalone = {};  // a library without any framework in place of a model (standalone.h)
};

// How an output differs from the first version's.
struct Difference {
  std::string output;
  std::string problem = {};  // of another kind than numbers that differ
  double max_error = 0, mean_error = 0;
  double largest = 0;                             // of the right numbers
  double own_error = 0;                           // between the runtime with and without its optimisations
  double double_error = 0;                        // of the runtime against double precision; 0: not known
  std::int64_t different = 0, own_different = 0;  // whole numbers that are not equal
  std::int64_t count = 0;                         // of elements

  // The bound: four times what the runtime differs from itself by, or 1e-4 of the largest number, whichever is more;
  // where its error against double precision is known, five times that: the runtime's own and four more. Of whole
  // numbers as many as the runtime itself has different, or one in a thousand.
  double allowed() const;
  bool within() const;
};

// How far an output is from the whole graph in double precision.
struct DoubleError {
  double largest_error = 0, mean_error = 0;
  double largest = 0;          // of the right numbers
  std::int64_t different = 0;  // whole numbers that are not equal, and NaN or infinities in other places
  std::int64_t count = 0;      // of elements; 0: it has another shape
};

// Both errors of an output on the same inputs.
struct ErrorsInDouble {
  std::string output;
  DoubleError ours, runtime;  // the runtime's: the larger of those with and without its optimisations

  // Four times the runtime's own, or 3e-5 of the largest number, whichever is more.
  double allowed() const;
  bool within() const;
};

struct Race {
  std::string version;
  std::map<std::string, std::vector<double>> times_ns;                // a number for each round
  std::map<std::string, std::vector<std::vector<Difference>>> cases;  // of each set of inputs, of each output
  std::map<std::string, std::vector<ErrorsInDouble>> in_double;       // of each output; empty without a reference
};

class Runtime {
 public:
  // Fails where it is not installed.
  static Result<Runtime> open(rivals::RivalFile rival);

  std::string version() const { return rival_.version(); }
  Result<Profile> profile(const std::filesystem::path& model, const std::filesystem::path& library,
                          const RunTerms& terms) const;
  // Runs the model once and leaves in the folder inputs.bin and outputs.bin: the bytes of each, padded to 64. How its
  // outputs differ from those without optimisations.
  Result<std::vector<Difference>> record(const std::filesystem::path& model, const RunTerms& terms,
                                         const std::filesystem::path& folder) const;
  // The first is what the others are held to. `cases` sets of inputs are compared where they are drawn.
  Result<Race> race(const std::vector<ModelVersion>& all, const RunTerms& terms, int cases = 3) const;

 private:
  explicit Runtime(rivals::RivalFile rival) : rival_(std::move(rival)) {}

  rivals::RivalFile rival_;
};

}  // namespace kw::models
