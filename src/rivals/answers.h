// What a framework's worker says (rivals/shared/worker.py), as data.
//
// A worker runs code of others, and may answer with anything: what is not an answer of the protocol is an Error or
// counts as not said, and never more calls, shapes or lengths than were asked about.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "core/shape.h"
#include "core/tensor.h"

namespace kw::rivals {

// An object that tells of no error; else an Error with the worker's own words.
Result<Json> answer_in(const std::string& text);

// A tensor's type, as a worker takes it.
Json type_of(const TensorType& type);

// The text of that name; empty where there is none.
std::string text_in(const Json& answer, const char* name);

struct About {
  std::vector<std::string> settings = {"default"};
  std::string version;
};
About about_in(const Json& answer);

// Why a model was not run as it is; "": it was.
std::string folded_in(const Json& answer);

struct Times {
  std::vector<double> each_ns;
  std::optional<double> overhead_ns;
  std::optional<double> own_ns;            // of one call as a graph of a GPU
  std::optional<double> own_warm_ns;       // and with warm caches, where that is of cold ones
  std::vector<std::vector<Shape>> shapes;  // of the outputs of each call; empty where it told none
};
// Of `count` calls.
Result<Times> times_in(const Json& answer, std::size_t count);
// Of one call's outputs, in the answer's "shapes".
Result<std::vector<Shape>> shapes_in(const Json& answer);

}  // namespace kw::rivals
