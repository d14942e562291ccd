#include "lm/examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/files.h"
#include "base/hash.h"
#include "base/random.h"

namespace kw::lm {
namespace {

constexpr std::uint64_t kMostLineBytes = std::uint64_t{64} << 20;

Result<ExampleText> example_text(const Json& json) {
  const auto text = [&](const char* name) -> Result<std::string> {
    const Json* found = json.find(name);
    if (found == nullptr) return fail("there is no \"{}\"", name);
    if (!found->is_string()) return fail("\"{}\" is no text", name);
    return found->text();
  };
  ExampleText made;
  KW_TRY(made.prompt, text("prompt"));
  KW_TRY(made.answer, text("answer"));
  if (json.contains("prefix") || json.contains("suffix")) {
    KW_TRY(made.prefix, text("prefix"));
    KW_TRY(made.suffix, text("suffix"));
  }
  return made;
}

}  // namespace

Status read_json_lines(const std::vector<std::filesystem::path>& files,
                       const std::function<Status(const Json&)>& take) {
  for (const auto& path : files) {
    KW_TRY(LineReader lines, LineReader::open(path, kMostLineBytes));
    std::string line;
    for (std::int64_t number = 1;; ++number) {
      KW_TRY(const bool more, lines.next(line));
      if (!more) break;
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      const Json json = Json::parse_quietly(line);
      const Status taken =
          json.is_object() ? take(json) : Status(fail("no whole JSON object (a line that was cut off?)"));
      if (!taken.ok()) return at(fmt::format("{} line {}", path.string(), number), taken.error());
    }
  }
  return {};
}

Status read_example_texts(const std::vector<std::filesystem::path>& files,
                          const std::function<Status(const ExampleText&)>& take) {
  return read_json_lines(files, [&](const Json& json) -> Status {
    KW_TRY(const ExampleText text, example_text(json));
    return take(text);
  });
}

Result<Example> example_of(const ExampleText& text, const PromptForm& form, std::int32_t end_id) {
  Example made;
  KW_TRY(made.ids, form.of_question(text.prompt));
  if (text.prefix) {
    KW_TRY(made.ids, form.asking_between(std::move(made.ids), *text.prefix, *text.suffix));
  }
  made.answer_begin = std::ssize(made.ids);
  KW_TRY(const auto answer, form.plain(text.answer));
  made.ids.insert(made.ids.end(), answer.begin(), answer.end());
  made.ids.push_back(end_id);
  return made;
}

Packer::Packer(std::vector<Example> examples, std::int64_t rows, std::int64_t row_length, std::int64_t block,
               std::int32_t end_id, std::uint64_t seed)
    : rows_(rows), row_length_(row_length), block_(block), end_id_(end_id), seed_(seed) {
  for (Example& example : examples) {
    if (filled_length(example) > row_length) {
      ++left_out_;
    } else {
      examples_.push_back(std::move(example));
    }
  }
}

std::int64_t Packer::tokens() const {
  return std::accumulate(examples_.begin(), examples_.end(), std::int64_t{0},
                         [](std::int64_t sum, const Example& one) { return sum + std::ssize(one.ids); });
}

std::uint64_t Packer::fingerprint() const {
  std::uint64_t hash = hash_of("");
  for (const Example& example : examples_) {
    hash =
        hash_of({reinterpret_cast<const char*>(example.ids.data()), example.ids.size() * sizeof(std::int32_t)}, hash);
    hash = hash_of({reinterpret_cast<const char*>(&example.answer_begin), sizeof example.answer_begin}, hash);
  }
  return hash;
}

std::int64_t Packer::filled_length(const Example& example) const {
  return (std::ssize(example.ids) + block_ - 1) / block_ * block_;
}

const Example& Packer::at(std::int64_t cursor) {
  const std::int64_t round = cursor / examples();
  if (round != round_) {
    round_ = round;
    order_.resize(examples_.size());
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
    Random(seed_ + 0x9E3779B97F4A7C15ull * static_cast<std::uint64_t>(round)).shuffle(std::span(order_));
  }
  return examples_[static_cast<std::size_t>(order_[static_cast<std::size_t>(cursor % examples())])];
}

PackedBatch Packer::batch(std::int64_t cursor) {
  assert(!examples_.empty());
  PackedBatch made{.rows = std::vector<PackedRow>(static_cast<std::size_t>(rows_))};
  for (;; ++made.examples) {
    const Example& example = at(cursor + made.examples);
    const std::int64_t length = filled_length(example);
    const auto row =
        std::ranges::find_if(made.rows, [&](const PackedRow& one) { return std::ssize(one) + length <= row_length_; });
    if (row == made.rows.end()) return made;
    for (std::int64_t place = 0; place < length; ++place) {
      const bool filling = place >= std::ssize(example.ids);
      row->push_back({.id = filling ? end_id_ : example.ids[static_cast<std::size_t>(place)],
                      .example = static_cast<std::int32_t>(made.examples),
                      .place = place,
                      .learnt = place >= example.answer_begin,
                      .filling = filling});
    }
  }
}

}  // namespace kw::lm
