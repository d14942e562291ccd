// What a model is trained on: lines of JSON as prompts and answers, in tokens, several of them packed into a row.
//
//   {"prompt": TEXT, "answer": TEXT}
//   {"prompt": TEXT, "prefix": TEXT, "answer": TEXT, "suffix": TEXT}     what stands between prefix and suffix
//
// Other names in a line are passed over. Only the answer and the token that ends it are learnt.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "lm/prompt_form.h"

namespace kw::lm {

struct ExampleText {
  std::string prompt, answer;
  std::optional<std::string> prefix, suffix;  // both or neither
};
// Calls `take` with every line that is not empty, a JSON object; an Error names the file and the line.
Status read_json_lines(const std::vector<std::filesystem::path>& files, const std::function<Status(const Json&)>& take);
Status read_example_texts(const std::vector<std::filesystem::path>& files,
                          const std::function<Status(const ExampleText&)>& take);

struct Example {
  std::vector<std::int32_t> ids;  // prompt, answer, end token
  std::int64_t answer_begin = 0;
};
Result<Example> example_of(const ExampleText& text, const PromptForm& form, std::int32_t end_id);

// A row of a batch: examples one after the other, each filled up with end tokens to whole blocks, which are learnt too.
struct PackedToken {
  std::int32_t id = 0;
  std::int32_t example = -1;  // in the batch; -1: nothing is here
  std::int64_t place = 0;     // in its example
  bool learnt = false;
  bool filling = false;  // after the answer's end
};
using PackedRow = std::vector<PackedToken>;
struct PackedBatch {
  std::vector<PackedRow> rows;
  std::int64_t examples = 0;  // that it took
};

// Walks over the examples again and again, in an order that is drawn anew each time round. Which batch comes next
// depends on `cursor` alone: how many examples all batches before took.
class Packer {
 public:
  // Examples that fit no row are left out; `left_out` counts them.
  Packer(std::vector<Example> examples, std::int64_t rows, std::int64_t row_length, std::int64_t block,
         std::int32_t end_id, std::uint64_t seed);

  PackedBatch batch(std::int64_t cursor);
  std::int64_t examples() const { return std::ssize(examples_); }
  std::int64_t left_out() const { return left_out_; }
  std::int64_t tokens() const;  // of all that are not left out, filling not counted
  std::uint64_t fingerprint() const;

 private:
  std::int64_t filled_length(const Example& example) const;
  const Example& at(std::int64_t cursor);

  std::vector<Example> examples_;
  std::int64_t rows_, row_length_, block_, left_out_ = 0;
  std::int32_t end_id_;
  std::uint64_t seed_;
  std::int64_t round_ = -1;  // whose order is known
  std::vector<std::int64_t> order_;
};

}  // namespace kw::lm
