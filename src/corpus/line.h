// A line of a corpus: what a model is asked, a right answer, and where it comes from.
//
// Three forms of one line: for supervised training {"prompt", "answer", ...}; for infilling {"prompt", "prefix",
// "answer", "suffix", ...}, one for each hole; as a conversation {"messages", ...}. What follows is the same in all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "corpus/holes.h"

namespace kw::corpus {

struct Line {
  std::string prompt;
  std::string answer;  // the kernel's source
  // Where it comes from.
  std::string id;         // of its verdict: "r3.17", run and position
  std::string origin;     // the author, and what the kernel was made from
  std::string licence;    // SPDX, or NOASSERTION where none was stated
  std::string technique;  // empty: none of ours
  // What it is about.
  std::string task;       // its name
  std::string task_text;  // as `kw gym` takes it
  std::string target;
  std::vector<std::string> operators;
  std::string structure;
  std::string split;   // train, held_out
  std::string unseen;  // of what is held out: operator, structure
  // What the judge said.
  std::string against;  // the rival
  double median = 0, low = 0, high = 0;
  std::int64_t pairs = 0;
  double time_ns = 0;
  std::string judged_on;  // the machine's name
  std::string judged_at;
};

// "Relu,Sigmoid" as names; empty ones are left out.
std::vector<std::string> names_in(const std::string& text);

enum class LineForm { sft, infill, chat };
std::string_view name_of(LineForm form);
Result<std::vector<LineForm>> forms_named(const std::string& names);  // with commas; "all"

Json json_of(const Line& line, LineForm form);
Json json_of(const Line& line, const Hole& hole);

// Of a line for infilling, at most this number of holes of each kind, chosen from the seed; the longest answers are
// left out.
struct HoleRules {
  std::uint64_t seed = 1;
  std::size_t most = 2;
  std::size_t shortest = 24;  // bytes
};
std::vector<Hole> holes_for(const Line& line, const HoleRules& rules);

// Reads a file of lines in any form and checks each; the Error of the first that is broken, or not whole, names file
// and line.
struct FileFacts {
  LineForm form = LineForm::sft;
  std::int64_t lines = 0;
  std::int64_t prompt_bytes = 0, answer_bytes = 0;
  std::int64_t longest_bytes = 0;  // of prompt and answer together
  std::map<std::string, std::int64_t> operators, splits, licences;
};
Result<FileFacts> check_file(const std::filesystem::path& file);
Json json_of(const FileFacts& facts);
std::string text_of(const FileFacts& facts);

// "Relu 7, Erf 3, and 2 more": the most frequent first.
std::string counts_text(const std::map<std::string, std::int64_t>& counts, std::size_t most);

}  // namespace kw::corpus
