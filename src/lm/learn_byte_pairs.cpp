#include "lm/learn_byte_pairs.h"

#include <algorithm>
#include <queue>
#include <set>
#include <tuple>

#include "lm/byte_pairs.h"
#include "lm/tokenizer.h"

namespace kw::lm {
namespace {

constexpr std::int64_t kBytes = 256;
constexpr std::int64_t kLeastCount = 2;  // what is there once is not learnt

struct Word {
  std::vector<std::int32_t> ids;
  std::int64_t count = 0;
};

struct Candidate {
  std::int64_t count;
  std::int32_t left, right;
  // The most frequent first; among equals the older tokens.
  bool operator<(const Candidate& other) const {
    return std::tie(count, other.left, other.right) < std::tie(other.count, left, right);
  }
};

// Counts of all pairs of neighbours, kept up while pairs are merged.
class Pairs {
 public:
  explicit Pairs(std::vector<Word> words) : words_(std::move(words)) {
    for (std::size_t word = 0; word < words_.size(); ++word) count(word, 1);
    for (const auto& [pair, known] : known_) queue_.push(candidate(pair, known.count));
  }

  // The pair that is there most often; false where none is there often enough.
  bool most_frequent(Candidate& best) {
    while (!queue_.empty()) {
      best = queue_.top();
      queue_.pop();
      const std::int64_t now = known_[BytePairs::pair(best.left, best.right)].count;
      if (now == best.count) return now >= kLeastCount;
      if (now >= kLeastCount) queue_.push({now, best.left, best.right});
    }
    return false;
  }

  void merge(const Candidate& pair, std::int32_t made) {
    const auto places = std::move(known_[BytePairs::pair(pair.left, pair.right)].words);
    std::set<std::uint64_t> changed;
    for (const std::size_t index : std::set<std::size_t>(places.begin(), places.end())) {
      count(index, -1);
      std::vector<std::int32_t>& ids = words_[index].ids;
      std::size_t kept = 0;
      for (std::size_t i = 0; i < ids.size(); ++i) {
        if (i + 1 < ids.size() && ids[i] == pair.left && ids[i + 1] == pair.right) {
          ids[kept++] = made;
          ++i;
        } else {
          ids[kept++] = ids[i];
        }
      }
      ids.resize(kept);
      count(index, 1);
      for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
        if (ids[i] == made || ids[i + 1] == made) changed.insert(BytePairs::pair(ids[i], ids[i + 1]));
      }
    }
    for (const std::uint64_t one : changed) queue_.push(candidate(one, known_[one].count));
  }

 private:
  struct Known {
    std::int64_t count = 0;
    std::vector<std::size_t> words;  // that have or had it
  };

  static Candidate candidate(std::uint64_t pair, std::int64_t count) {
    return {count, static_cast<std::int32_t>(pair >> 32), static_cast<std::int32_t>(pair & 0xFFFFFFFF)};
  }

  void count(std::size_t index, std::int64_t sign) {
    const Word& word = words_[index];
    for (std::size_t i = 0; i + 1 < word.ids.size(); ++i) {
      Known& known = known_[BytePairs::pair(word.ids[i], word.ids[i + 1])];
      known.count += sign * word.count;
      if (sign > 0 && (known.words.empty() || known.words.back() != index)) known.words.push_back(index);
    }
  }

  std::vector<Word> words_;
  std::unordered_map<std::uint64_t, Known> known_;
  std::priority_queue<Candidate> queue_;
};

}  // namespace

Result<BytePairLearner> BytePairLearner::begin() {
  KW_TRY(Pattern pattern, Pattern::compile(kQwen2Pattern));
  return BytePairLearner(std::move(pattern));
}

Status BytePairLearner::add(std::string_view text) {
  KW_TRY(const auto pieces, pattern_.split(text));
  for (const std::string_view piece : pieces) ++pieces_[std::string(piece)];
  return {};
}

Result<Json> BytePairLearner::learn(std::int64_t size, const std::vector<std::string>& specials) const {
  const std::int64_t room = size - std::ssize(specials);
  if (room < kBytes)
    return fail("a vocabulary of {} has no room for {} bytes and {} special tokens", size, kBytes, specials.size());
  std::vector<Word> words;
  for (const auto& [piece, count] : pieces_) {
    Word& word = words.emplace_back(Word{.count = count});
    for (const char byte : piece) word.ids.push_back(static_cast<unsigned char>(byte));
  }
  std::vector<std::string> tokens;
  std::unordered_map<std::string, std::int32_t> ids;
  for (std::int64_t byte = 0; byte < kBytes; ++byte) {
    tokens.emplace_back(1, static_cast<char>(byte));
    ids[tokens.back()] = static_cast<std::int32_t>(byte);
  }
  Pairs pairs(std::move(words));
  std::vector<TokenPair> merges;
  for (Candidate best = {}; std::ssize(tokens) < room && pairs.most_frequent(best);) {
    const std::string made = tokens[static_cast<std::size_t>(best.left)] + tokens[static_cast<std::size_t>(best.right)];
    // Two pairs may make the same bytes: one token then.
    const auto [place, is_new] = ids.try_emplace(made, static_cast<std::int32_t>(tokens.size()));
    if (is_new) tokens.push_back(made);
    merges.push_back({best.left, best.right});
    pairs.merge(best, place->second);
  }
  return tokenizer_json_of_merges(tokens, merges, kQwen2Pattern, specials);
}

}  // namespace kw::lm
