#include "agents/author.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "agents/answer.h"
#include "base/files.h"
#include "base/nearest.h"

namespace kw::agents {
namespace {

constexpr int kMostTries = 3;  // of one answer with code
constexpr int kTokensOfCited = 600;
constexpr std::size_t kMostOfAChange = 400;     // characters of a change that is told of
constexpr std::size_t kMostOfALine = 110;       // and of a line in it
constexpr std::ptrdiff_t kMostChangesTold = 8;  // the last ones

// Lines without the blanks around them; empty ones and braces alone are left out.
std::vector<std::string> telling_lines(const std::string& source) {
  std::vector<std::string> lines;
  std::istringstream stream(source);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos) continue;
    line = line.substr(first);
    if (line.find_first_not_of("{}();") != std::string::npos) lines.push_back(std::move(line));
  }
  return lines;
}

// What a kernel has that another one has not, and the other way round, as lines with + and -.
std::string change_between(const std::string& before, const std::string& after) {
  const std::vector<std::string> old_lines = telling_lines(before), new_lines = telling_lines(after);
  std::string change;
  const auto tell = [&](const std::vector<std::string>& lines, const std::vector<std::string>& others, char mark) {
    std::multiset<std::string> left(others.begin(), others.end());
    for (const std::string& line : lines) {
      if (const auto same = left.find(line); same != left.end()) {
        left.erase(same);
      } else if (change.size() < kMostOfAChange) {
        change +=
            fmt::format("    {} {}{}\n", mark, line.substr(0, kMostOfALine), line.size() > kMostOfALine ? "..." : "");
        if (change.size() >= kMostOfAChange) change += "    ...\n";
      }
    }
  };
  tell(new_lines, old_lines, '+');
  tell(old_lines, new_lines, '-');
  return change;
}

}  // namespace

void take_code(Round& round, const std::string& answer, const std::string& base) {
  Code code = code_in(answer, base);
  round.source = std::move(code.source);
  round.problem = std::move(code.problem);
  round.edits = code.edits;
}

std::string first_question(const Work& work, const Talk& talk, const std::string& other) {
  Facts facts = work.facts;
  facts["kernel"] = work.start;
  facts["other"] = other;
  return talk.prompts().text("oneshot", facts);
}

Round ask_for_kernel(const Work& work, Talk& talk, std::optional<double> temperature) {
  Round round{.role = RoundRole::coder};
  const auto answer = talk.ask({{llm::Role::user, first_question(work, talk)}}, round.problem, temperature);
  if (answer) take_code(round, *answer, work.start);
  return round;
}

void ask_for_code(Round& round, const std::string& question, const std::string& base, Talk& talk,
                  std::optional<double> temperature) {
  std::vector<llm::Message> messages = {{llm::Role::user, question}};
  for (int tries = 1;; ++tries) {
    const auto answer = talk.ask(messages, round.problem, temperature);
    if (!answer) return;
    take_code(round, *answer, base);
    if (round.problem.empty() || tries == kMostTries) return;
    round.mended.push_back(round.problem);
    messages.push_back({llm::Role::assistant, *answer});
    messages.push_back({llm::Role::user, talk.prompts().text("code_again", {{"problem", round.problem}})});
  }
}

Round ask_to_vary(const Work& work, const Round& base, const Round* other, const std::string& wish, Talk& talk) {
  Round round{.parent = base.number,
              .role = base.right() ? RoundRole::accelerator : RoundRole::debugger,
              .plan = {{"method", wish}}};
  Facts facts = work.facts;
  facts["kernel"] = base.source;
  facts["verdict"] = verdict_text(base);
  facts["wish"] = wish;
  if (other != nullptr) {
    facts["other"] = other->source;
    facts["other_stands"] = llm::measured(fmt::format("It is {:.2f} times as fast as the kernel to change; kind: {}.",
                                                      other->standing / std::max(base.standing, 1e-9), other->niche));
  }
  // What was changed and what came of it: nothing is worth trying twice from one place.
  std::string tried;
  const auto is_child = [&](const Round& one) { return one.parent == base.number && one.role != RoundRole::tuner; };
  std::ptrdiff_t older = std::ranges::count_if(work.rounds, is_child) - kMostChangesTold;
  for (const Round& child : work.rounds) {
    if (!is_child(child) || older-- > 0) continue;
    const std::string result = !child.problem.empty() ? "no kernel"
                               : !child.right()       ? "wrong"
                               : child.beside         ? comparison_text(child)
                                                      : "right";
    tried += fmt::format("- {}{}\n{}", llm::measured(result), child.niche.empty() ? "" : " (" + child.niche + ")",
                         child.source.empty() ? "" : change_between(base.source, child.source));
  }
  facts["history"] = tried;
  ask_for_code(round, talk.prompts().text("vary", facts), base.source, talk);
  return round;
}

void cite_repository(Facts& facts, const Round& round, const Talk& talk) {
  if (talk.repository() == nullptr || !round.verdict || round.right()) return;
  std::string errors;
  for (const SourceError& error : round.verdict->errors)
    errors += fmt::format("{}:{}: {}\n", error.file, error.line, error.message);
  facts["cited"] = talk.repository()->cited_by(errors, kTokensOfCited);
}

bool ask_to_mend(Round& round, const Work& work, Talk& talk) {
  Facts facts = work.facts;
  facts["kernel"] = round.source;
  facts["verdict"] = verdict_text(round);
  cite_repository(facts, round, talk);
  Round mended{.source = {}};
  ask_for_code(mended, talk.prompts().text("mend", facts), round.source, talk);
  if (mended.source.empty() || mended.source == round.source) return false;
  std::string why =
      round.differs_from_tape() ? "when the tape was made" : text_of(round.verdict->reason, Audience::author);
  if (constexpr std::string_view kSame = "does not compile: "; why.starts_with(kSame)) why.erase(0, kSame.size());
  round.mended.push_back("did not build: " + why);
  round.source = std::move(mended.source);
  round.verdict.reset();
  round.taped.reset();
  return true;
}

std::vector<AuthorKind> all_authors() {
  std::vector<AuthorKind> all;
  for (const authors::Maker maker : authors::table) all.push_back(maker());
  std::ranges::sort(all, {}, &AuthorKind::name);
  return all;
}

std::string own_model_of(const AuthorKind& kind) {
  const auto data = data_folder();
  if (kind.own_model.empty() || !data.ok()) return "";
  const std::filesystem::path folder = *data / "models" / kind.own_model;
  std::error_code failed;
  return std::filesystem::exists(folder / "config.json", failed) ? "lm:" + folder.string() : "";
}

Result<AuthorKind> find_author(const std::string& name) {
  std::vector<std::string> names;
  for (const AuthorKind& kind : all_authors()) {
    if (kind.name == name) return kind;
    names.push_back(kind.name);
  }
  return fail("no author is called '{}'{}", name, nearest_hint(name, names));
}

}  // namespace kw::agents
