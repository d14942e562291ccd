#include "lm/tokenizer.h"

#include <algorithm>
#include <utility>

#include "lm/tokenizer_parts.h"
#include "lm/unicode.h"

namespace kw::lm {
namespace {

std::int32_t last_character(std::string_view text) {
  std::size_t begin = text.size();
  while (begin > 0 && (static_cast<unsigned char>(text[--begin]) & 0xC0) == 0x80) {
  }
  return next_character(text, begin);
}

bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
  const bool joined_before = begin > 0 && is_word(last_character(text.substr(0, begin)));
  return !joined_before && (end >= text.size() || !is_word(next_character(text, end)));
}

// Splits into tokens with the same pieces met before remembered: most words of a text come again.
class PieceEncoder {
 public:
  explicit PieceEncoder(const std::variant<BytePairs, WordPiece>& model) : model_(model) {}

  void encode(const std::string& piece, std::vector<std::int32_t>& out) {
    if (piece.size() > kMostRemembered) return encode_anew(piece, out);
    const auto [place, is_new] = known_.try_emplace(piece);
    if (is_new) encode_anew(piece, place->second);
    out.insert(out.end(), place->second.begin(), place->second.end());
  }

 private:
  static constexpr std::size_t kMostRemembered = 64;

  void encode_anew(const std::string& piece, std::vector<std::int32_t>& out) const {
    std::visit([&](const auto& model) { model.encode(piece, out); }, model_);
  }

  const std::variant<BytePairs, WordPiece>& model_;
  std::unordered_map<std::string, std::vector<std::int32_t>> known_;
};

}  // namespace

void AddedTokens::add(AddedToken token) {
  if (token.text.empty()) return;
  std::vector<std::size_t>& same = by_first_[token.text[0]];
  const auto place =
      std::ranges::find_if(same, [&](std::size_t i) { return tokens_[i].text.size() < token.text.size(); });
  same.insert(place, tokens_.size());
  tokens_.push_back(std::move(token));
}

std::vector<AddedTokens::Found> AddedTokens::split(std::string_view text, Specials specials) const {
  std::vector<Found> parts;
  std::size_t done = 0;
  const auto match_at = [&](std::size_t at) -> const AddedToken* {
    const auto same = by_first_.find(text[at]);
    if (same == by_first_.end()) return nullptr;
    for (const std::size_t i : same->second) {
      const AddedToken& token = tokens_[i];
      if (text.compare(at, token.text.size(), token.text) != 0) continue;
      if (token.special && specials == Specials::as_text) continue;
      if (!token.single_word || stands_alone(text, at, at + token.text.size())) return &token;
    }
    return nullptr;
  };
  for (std::size_t at = 0; at < text.size();) {
    const AddedToken* token = tokens_.empty() ? nullptr : match_at(at);
    if (token == nullptr) {
      ++at;
      continue;
    }
    std::size_t begin = at, end = at + token->text.size();
    while (token->takes_space_before && begin > done &&
           is_white_space(last_character(text.substr(done, begin - done)))) {
      do --begin;
      while (begin > done && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80);
    }
    for (std::size_t next = end; token->takes_space_after && next < text.size();) {
      if (!is_white_space(next_character(text, next))) break;
      end = next;
    }
    if (begin > done) parts.push_back({nullptr, text.substr(done, begin - done)});
    parts.push_back({token, text.substr(begin, end - begin)});
    at = done = end;
  }
  if (done < text.size()) parts.push_back({nullptr, text.substr(done)});
  return parts;
}

void WordPiece::encode(std::string_view word, std::vector<std::int32_t>& out) const {
  std::vector<std::size_t> ends;  // of its characters
  for (std::size_t at = 0; at < word.size();) {
    next_character(word, at);
    ends.push_back(at);
  }
  std::vector<std::int32_t> found;
  bool known = std::ssize(ends) <= most_characters;
  for (std::size_t begin = 0, first = 0; known && begin < word.size();) {
    known = false;
    for (std::size_t last = ends.size(); last > first; --last) {
      const std::string piece = (begin > 0 ? continuing : "") + std::string(word.substr(begin, ends[last - 1] - begin));
      const auto id = ids.find(piece);
      if (id == ids.end()) continue;
      found.push_back(id->second);
      begin = ends[last - 1];
      first = last;
      known = true;
      break;
    }
  }
  if (!known) found = {unknown};
  out.insert(out.end(), found.begin(), found.end());
}

Tokenizer::Tokenizer(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}

Result<std::vector<std::int32_t>> Tokenizer::encode(std::string_view text, Specials specials) const {
  std::vector<std::int32_t> ids;
  PieceEncoder encoder(parts_->model);
  for (const auto& [special, raw] : parts_->raw.split(text, specials)) {
    if (special != nullptr) {
      ids.push_back(special->id);
      continue;
    }
    std::string changed(raw);
    for (const Change& change : parts_->changes) changed = change(std::move(changed));
    for (const auto& [token, part] : parts_->in_normalised.split(changed, specials)) {
      if (token != nullptr) {
        ids.push_back(token->id);
        continue;
      }
      std::vector<std::string> pieces = {std::string(part)};
      for (const Split& split : parts_->splits) {
        std::vector<std::string> smaller;
        for (const std::string& piece : pieces) {
          KW_TRY(std::vector<std::string> made, split(piece));
          std::ranges::move(made, std::back_inserter(smaller));
        }
        pieces = std::move(smaller);
      }
      for (const std::string& piece : pieces) encoder.encode(piece, ids);
    }
  }
  return ids;
}

std::vector<std::int32_t> Tokenizer::around(std::vector<std::int32_t> ids) const {
  ids.insert(ids.begin(), parts_->before.begin(), parts_->before.end());
  ids.insert(ids.end(), parts_->after.begin(), parts_->after.end());
  return ids;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids, Show show) const {
  std::string text;
  for (const std::int32_t id : ids) {
    const AddedToken* added = nullptr;
    for (const AddedTokens* tokens : {&parts_->raw, &parts_->in_normalised}) {
      const auto found = std::ranges::find(tokens->all(), id, &AddedToken::id);
      if (found != tokens->all().end()) added = &*found;
    }
    if (added != nullptr) {
      if (added->special && show == Show::no_specials) continue;
      text += added->text;
    } else if (const auto* pairs = std::get_if<BytePairs>(&parts_->model)) {
      if (id >= 0 && id < std::ssize(pairs->bytes)) text += pairs->bytes[static_cast<std::size_t>(id)];
    } else {
      const WordPiece& words = std::get<WordPiece>(parts_->model);
      if (id < 0 || id >= std::ssize(words.texts)) continue;
      const std::string& piece = words.texts[static_cast<std::size_t>(id)];
      const bool continues = piece.starts_with(words.continuing);
      if (!text.empty() && !continues) text += ' ';
      text += continues ? piece.substr(words.continuing.size()) : piece;
    }
  }
  return text;
}

std::int64_t Tokenizer::size() const { return parts_->size; }

std::optional<std::int32_t> Tokenizer::id_of(const std::string& token) const {
  for (const AddedTokens* tokens : {&parts_->raw, &parts_->in_normalised}) {
    const auto found = std::ranges::find(tokens->all(), token, &AddedToken::text);
    if (found != tokens->all().end()) return found->id;
  }
  return std::nullopt;
}

}  // namespace kw::lm
