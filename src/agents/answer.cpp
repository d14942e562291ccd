#include "agents/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <sstream>

#include "base/json.h"

namespace kw::agents {
namespace {

struct Fence {
  std::string language;
  std::string text;
  bool closed = false;
};

std::vector<Fence> fences_in(const std::string& answer) {
  std::vector<Fence> fences;
  std::istringstream stream(answer);
  bool inside = false;
  for (std::string line; std::getline(stream, line);) {
    const std::size_t first = line.find_first_not_of(" \t");
    if (first != std::string::npos && line.compare(first, 3, "```") == 0) {
      if (inside) {
        fences.back().closed = true;
      } else {
        std::string language = line.substr(first + 3);
        while (!language.empty() && std::isspace(static_cast<unsigned char>(language.back()))) language.pop_back();
        fences.push_back({language, "", false});
      }
      inside = !inside;
    } else if (inside) {
      fences.back().text += line + "\n";
    }
  }
  return fences;
}

bool is_kernel(const std::string& text) {
  return std::ranges::any_of(std::array{"KW_KERNEL", "KW_PLAN", "kw_run"},
                             [&](const char* word) { return text.find(word) != std::string::npos; });
}

struct Edit {
  std::string search;
  std::string replace;
};

// <<<<<<< SEARCH ... ======= ... >>>>>>> REPLACE
std::vector<Edit> edits_in(const std::string& answer, std::string& problem) {
  std::vector<Edit> edits;
  std::istringstream stream(answer);
  enum class In { nothing, search, replace } in = In::nothing;
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.starts_with("<<<<<<<")) {
      edits.emplace_back();
      in = In::search;
    } else if (line.starts_with("=======") && in == In::search) {
      in = In::replace;
    } else if (line.starts_with(">>>>>>>") && in == In::replace) {
      in = In::nothing;
    } else if (in == In::search) {
      edits.back().search += line + "\n";
    } else if (in == In::replace) {
      edits.back().replace += line + "\n";
    }
  }
  if (in != In::nothing) problem = "the last edit is not finished: <<<<<<< SEARCH, =======, >>>>>>> REPLACE";
  return edits;
}

std::string squeezed(const std::string& line) {
  std::string text;
  for (const char c : line) {
    if (!std::isspace(static_cast<unsigned char>(c))) text += c;
  }
  return text;
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r\n") + 1 - first);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Of neighbouring letters, each pair as often as it stands there, in order.
std::vector<std::pair<char, char>> pairs_of(const std::string& text) {
  std::vector<std::pair<char, char>> pairs;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) pairs.emplace_back(text[i], text[i + 1]);
  std::ranges::sort(pairs);
  return pairs;
}

// How similar two lines are, blanks aside: 1 the same, 0 nothing in common. A line that is a piece of the other counts
// as similar wherever it stands in it.
double likeness(const std::string& a, const std::string& b) {
  if (a == b) return 1;
  const auto in_a = pairs_of(a), in_b = pairs_of(b);
  if (in_a.empty() || in_b.empty()) return 0;
  std::vector<std::pair<char, char>> common;
  std::ranges::set_intersection(in_a, in_b, std::back_inserter(common));
  return 2 * static_cast<double>(common.size()) / static_cast<double>(in_a.size() + in_b.size());
}

// The lines of a file that are most similar to the text that was searched for, with a line before and after, numbered.
std::string nearest_lines(const std::vector<std::string>& lines, const std::vector<std::string>& wanted) {
  constexpr std::size_t kMostShown = 14;
  if (lines.empty()) return "";
  std::size_t best = 0;
  double most = -1;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    double score = 0;
    for (std::size_t k = 0; k < wanted.size() && i + k < lines.size(); ++k)
      score += likeness(squeezed(lines[i + k]), wanted[k]);
    if (score > most) most = score, best = i;
  }
  const std::size_t first = best > 0 ? best - 1 : 0;
  const std::size_t last = std::min({lines.size(), best + wanted.size() + 1, first + kMostShown});
  std::string text;
  for (std::size_t i = first; i < last; ++i) text += fmt::format("{:>4} {}\n", i + 1, lines[i]);
  return text;
}

// Replaces the one place where it stands; where it stands nowhere exactly, blanks are not counted, and a single line
// may be a piece of one.
std::string apply(std::string& source, const Edit& edit) {
  const std::string shown = edit.search.substr(0, 80);
  if (squeezed(edit.search).empty()) return "an edit searches for nothing";
  const std::size_t at = source.find(edit.search);
  if (at != std::string::npos) {
    if (source.find(edit.search, at + 1) != std::string::npos)
      return fmt::format("the text of an edit stands more than once in the file: {}", shown);
    source.replace(at, edit.search.size(), edit.replace);
    return {};
  }
  const std::vector<std::string> lines = lines_of(source);
  std::vector<std::string> wanted;
  for (const std::string& line : lines_of(edit.search)) wanted.push_back(squeezed(line));
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i + wanted.size() <= lines.size(); ++i) {
    bool same = true;
    for (std::size_t k = 0; k < wanted.size() && same; ++k) same = squeezed(lines[i + k]) == wanted[k];
    if (same) places.push_back(i);
  }
  if (places.empty() && wanted.size() == 1) {
    const std::string piece = trimmed(edit.search), instead = trimmed(edit.replace);
    const std::size_t inside = source.find(piece);
    if (inside != std::string::npos && source.find(piece, inside + 1) == std::string::npos) {
      source.replace(inside, piece.size(), instead);
      return {};
    }
  }
  if (places.empty()) {
    return fmt::format("the text of an edit does not stand in the file: {}\nThe nearest lines of the file are:\n{}",
                       shown, nearest_lines(lines, wanted));
  }
  if (places.size() > 1) return fmt::format("the text of an edit stands more than once in the file: {}", shown);
  std::string changed;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i == places[0]) changed += edit.replace;
    if (i < places[0] || i >= places[0] + wanted.size()) changed += lines[i] + "\n";
  }
  source = changed;
  return {};
}

std::string no_kernel_in(const std::vector<Fence>& fences) {
  if (fences.empty()) return "there is no kernel in the answer: no ``` fence, no edits, no KW_KERNEL or KW_PLAN";
  const std::string language = fences.front().language;
  constexpr std::array kOurs = {"", "cpp", "c++", "c", "cuda", "cu"};
  if (std::ranges::find(kOurs, language) == kOurs.end())
    return fmt::format("the answer is in {}; a kernel is C, C++ or CUDA in the contract that was shown", language);
  return "the code defines none of KW_KERNEL, KW_PLAN and kw_run";
}

}  // namespace

std::string without_thoughts(std::string answer) {
  for (std::size_t begin; (begin = answer.find("<think>")) != std::string::npos;) {
    const std::size_t end = answer.find("</think>", begin);
    if (end == std::string::npos) return answer.substr(0, begin);
    answer.erase(begin, end + 8 - begin);
  }
  if (const std::size_t end = answer.find("</think>"); end != std::string::npos) answer.erase(0, end + 8);
  return answer;
}

Code code_in(const std::string& said, const std::string& base) {
  Code code;
  const std::string answer = without_thoughts(said);
  if (answer.find("<<<<<<<") != std::string::npos) {
    const std::vector<Edit> edits = edits_in(answer, code.problem);
    std::string source = base;
    for (const Edit& edit : edits) {
      if (code.problem.empty()) code.problem = apply(source, edit);
    }
    if (code.problem.empty() && source == base) code.problem = "the edits change nothing";
    code.edits = static_cast<int>(edits.size());
    if (code.problem.empty()) code.source = source;
    return code;
  }
  const std::vector<Fence> fences = fences_in(answer);
  std::vector<const Fence*> kernels;
  for (const Fence& fence : fences) {
    if (is_kernel(fence.text)) kernels.push_back(&fence);
  }
  if (kernels.empty()) {
    // No fence at all, but nothing besides a kernel either.
    const std::size_t first = answer.find_first_not_of(" \t\r\n");
    if (fences.empty() && is_kernel(answer) && first != std::string::npos &&
        (answer[first] == '#' || answer.compare(first, 2, "//") == 0 || answer.compare(first, 2, "/*") == 0)) {
      code.source = answer.substr(first);
    } else {
      code.problem = no_kernel_in(fences);
    }
    return code;
  }
  // The last of several: models write drafts first.
  const Fence& fence = *kernels.back();
  if (!fence.closed) {
    code.problem = "the code breaks off: its ``` fence is not closed";
    return code;
  }
  code.source = fence.text;
  return code;
}

Code part_in(const std::string& said) {
  Code code;
  const std::string answer = without_thoughts(said);
  const std::vector<Fence> fences = fences_in(answer);
  if (fences.empty()) {
    code.source = answer;
  } else if (!fences.back().closed) {
    code.problem = "the code breaks off: its ``` fence is not closed";
  } else {
    code.source = fences.back().text;
  }
  if (code.problem.empty() && code.source.find_first_not_of(" \t\r\n") == std::string::npos)
    code.problem = "there is nothing in the answer";
  return code;
}

std::vector<inspect::Look> looks_in(const std::string& said) {
  const std::string answer = without_thoughts(said);
  if (answer.find("<<<<<<<") != std::string::npos) return {};
  std::vector<inspect::Look> looks;
  for (const Fence& fence : fences_in(answer)) {
    if (fence.language != "look") {
      if (is_kernel(fence.text)) return {};
      continue;
    }
    for (const std::string& line : lines_of(fence.text)) {
      if (auto look = inspect::look_of(line)) looks.push_back(*std::move(look));
    }
  }
  return looks;
}

Plan plan_in(const std::string& said, const std::vector<Field>& schema) {
  Plan plan;
  const std::string answer = without_thoughts(said);
  Json json;
  // The first bracket from which on an object can be read.
  for (std::size_t at = answer.find('{'); at != std::string::npos; at = answer.find('{', at + 1)) {
    int depth = 0;
    bool in_text = false;
    for (std::size_t i = at; i < answer.size(); ++i) {
      if (in_text) {
        if (answer[i] == '\\') {
          ++i;
        } else if (answer[i] == '"') {
          in_text = false;
        }
        continue;
      }
      if (answer[i] == '"') in_text = true;
      if (answer[i] == '{') ++depth;
      if (answer[i] == '}' && --depth == 0) {
        json = Json::parse_quietly(answer.substr(at, i - at + 1));
        break;
      }
    }
    if (json.is_object()) break;
  }
  if (!json.is_object()) {
    plan.problem = "there is no JSON object in it";
    return plan;
  }
  for (const Field& field : schema) {
    const auto found = json.find(field.name);
    std::string text;
    if (found == nullptr) {
      plan.problem = fmt::format("the field \"{}\" is missing", field.name);
    } else if (found->is_string()) {
      text = found->get<std::string>();
    } else if (found->is_array() && std::ranges::all_of(*found, [](const Json& each) { return each.is_string(); })) {
      for (const Json& each : *found) text += each.get<std::string>() + "\n";
    } else {
      plan.problem = fmt::format("the field \"{}\" is no text", field.name);
    }
    if (plan.problem.empty() && squeezed(text).empty())
      plan.problem = fmt::format("the field \"{}\" is empty", field.name);
    if (plan.problem.empty() && text.size() > field.most) {
      plan.problem =
          fmt::format("the field \"{}\" has {} characters; {} are allowed", field.name, text.size(), field.most);
    }
    if (plan.problem.empty() && !field.allowed.empty() &&
        std::ranges::find(field.allowed, text) == field.allowed.end()) {
      plan.problem =
          fmt::format("the field \"{}\" is \"{}\", which is not among what is allowed", field.name, text.substr(0, 40));
    }
    if (!plan.problem.empty()) {
      plan.fields.clear();
      return plan;
    }
    plan.fields[field.name] = text;
  }
  return plan;
}

}  // namespace kw::agents
