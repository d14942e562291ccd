#include "lm/chat_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/files.h"
#include "lm/template_expression.h"

namespace kw::lm {

struct ChatTemplate::Block {
  enum class Kind { text, print, choice, loop, set };
  struct Branch {
    std::unique_ptr<TemplateExpression> condition;  // null: else
    std::vector<Block> body;
  };

  Kind kind = Kind::text;
  int line = 0;
  std::string text;                             // or the name that is set
  std::string member;                           // of a namespace
  std::vector<std::string> names;               // of a loop
  std::unique_ptr<TemplateExpression> value;    // printed, set, or walked over
  std::unique_ptr<TemplateExpression> only_if;  // of a loop
  std::vector<Branch> branches;                 // of a loop one or two: the second where it has no element
};

namespace {

enum class Tag { text, print, statement };

// A piece of the template's text between braces, or outside of them.
struct Piece {
  Tag tag = Tag::text;
  std::string text;
  int line = 1;
};

// With the rules of trim_blocks and lstrip_blocks: the line end after a statement goes, and blanks before it on its
// line.
std::vector<Piece> pieces_of(std::string_view text) {
  std::vector<Piece> pieces;
  int line = 1;
  bool trim_next = false;      // by "-%}"
  bool drop_line_end = false;  // by "%}"
  for (std::size_t at = 0; at < text.size();) {
    std::size_t open = at;
    while ((open = text.find('{', open)) != std::string_view::npos && open + 1 < text.size() && text[open + 1] != '{' &&
           text[open + 1] != '%' && text[open + 1] != '#') {
      ++open;
    }
    if (open == std::string_view::npos || open + 1 >= text.size()) open = text.size();
    std::string plain(text.substr(at, open - at));
    const int begins = line;
    line += static_cast<int>(std::ranges::count(plain, '\n'));
    if (trim_next) {
      plain.erase(0, std::min(plain.find_first_not_of(" \t\r\n"), plain.size()));
    } else if (drop_line_end && plain.starts_with('\n')) {
      plain.erase(0, 1);
    }
    trim_next = drop_line_end = false;
    if (open < text.size()) {
      const bool strips = open + 2 < text.size() && text[open + 2] == '-';
      if (strips) {
        const std::size_t last = plain.find_last_not_of(" \t\r\n");
        plain.erase(last == std::string::npos ? 0 : last + 1);
      } else if (text[open + 1] != '{') {
        const std::size_t before = open == 0 ? std::string_view::npos : text.find_last_not_of(" \t", open - 1);
        const bool begins_line = before == std::string_view::npos || text[before] == '\n';
        const std::size_t last = plain.find_last_not_of(" \t");
        if (begins_line) plain.erase(last == std::string::npos ? 0 : last + 1);
      }
    }
    if (!plain.empty()) pieces.push_back({Tag::text, plain, begins});
    if (open >= text.size()) break;
    const char kind = text[open + 1];
    const std::string close = kind == '{' ? "}}" : kind == '%' ? "%}" : "#}";
    std::size_t end = open + 2;
    char quote = 0;
    for (; end < text.size(); ++end) {
      if (kind != '#' && quote == 0 && (text[end] == '\'' || text[end] == '"'))
        quote = text[end];
      else if (quote != 0 && text[end] == '\\')
        ++end;
      else if (quote != 0 && text[end] == quote)
        quote = 0;
      else if (quote == 0 && text.substr(end, 2) == close)
        break;
    }
    if (end >= text.size()) throw TemplateError(fmt::format("line {}: a tag without its end", line));
    std::string inside(text.substr(open + 2, end - open - 2));
    const int here = line;
    line += static_cast<int>(std::ranges::count(inside, '\n'));
    if (inside.starts_with('-') || inside.starts_with('+')) inside.erase(0, 1);
    trim_next = inside.ends_with('-');
    if (trim_next) inside.pop_back();
    drop_line_end = kind != '{';
    if (kind != '#') pieces.push_back({kind == '{' ? Tag::print : Tag::statement, inside, here});
    at = end + 2;
  }
  return pieces;
}

}  // namespace

class TemplateParser {
 public:
  using Block = ChatTemplate::Block;

  static ChatTemplate parse(std::string_view text) {
    TemplateParser parser(pieces_of(text));
    auto root = std::make_shared<Block>();
    root->branches.push_back({nullptr, parser.body({}, 0)});
    return ChatTemplate(std::move(root));
  }

  static void render(const std::vector<Block>& body, TemplateScopes& scopes, std::string& out) {
    for (const Block& block : body) {
      try {
        render(block, scopes, out);
      } catch (const JsonError& error) {
        throw TemplateError(fmt::format("line {}: {}", block.line, error.what()));
      } catch (const TemplateError& error) {
        const std::string message = error.what();
        throw TemplateError(message.starts_with("line ") ? message : fmt::format("line {}: {}", block.line, message));
      }
    }
  }
  static const std::vector<Block>& body_of(const Block& root) { return root.branches[0].body; }

 private:
  static constexpr int kMostDepth = 50;

  explicit TemplateParser(std::vector<Piece> pieces) : pieces_(std::move(pieces)) {}

  // Up to a statement that begins with one of `ends`, which is left in `words_`.
  std::vector<Block> body(const std::vector<std::string>& ends, int depth) {
    if (depth > kMostDepth) throw TemplateError("blocks are nested too deeply");
    std::vector<Block> blocks;
    for (; at_ < pieces_.size();) {
      const Piece& piece = pieces_[at_++];
      Block block;
      block.line = piece.line;
      try {
        if (piece.tag == Tag::text) {
          block.text = piece.text;
        } else {
          words_ = template_words(piece.text);
          word_ = 0;
          if (piece.tag == Tag::print) {
            block.kind = Block::Kind::print;
            block.value = parse_expression(words_, word_);
            finish();
          } else {
            const std::string name = words_[0].text;
            word_ = 1;
            if (std::ranges::find(ends, name) != ends.end()) return blocks;
            statement(name, block, depth);
          }
        }
      } catch (const TemplateError& error) {
        const std::string message = error.what();
        throw TemplateError(message.starts_with("line ") ? message : fmt::format("line {}: {}", block.line, message));
      }
      blocks.push_back(std::move(block));
    }
    if (!ends.empty()) throw TemplateError(fmt::format("{} is missing", ends.back()));
    return blocks;
  }

  void finish() const {
    if (words_[word_].kind != TemplateWord::Kind::end)
      throw TemplateError(fmt::format("unexpected '{}'", words_[word_].text));
  }
  std::string name() {
    if (words_[word_].kind != TemplateWord::Kind::name) throw TemplateError("a name is missing");
    return words_[word_++].text;
  }
  bool take(const char* word) {
    if (words_[word_].kind == TemplateWord::Kind::text || words_[word_].text != word) return false;
    ++word_;
    return true;
  }

  void statement(const std::string& kind, Block& block, int depth) {
    if (kind == "if") {
      block.kind = Block::Kind::choice;
      auto condition = parse_expression(words_, word_);
      finish();
      for (;;) {
        auto inside = body({"elif", "else", "endif"}, depth + 1);
        block.branches.push_back({std::move(condition), std::move(inside)});
        const std::string next = words_[0].text;
        if (next == "endif") return;
        if (next == "elif") {
          condition = parse_expression(words_, word_);
          finish();
        } else {
          block.branches.push_back({nullptr, body({"endif"}, depth + 1)});
          return;
        }
      }
    }
    if (kind == "for") {
      block.kind = Block::Kind::loop;
      do block.names.push_back(name());
      while (take(","));
      if (!take("in")) throw TemplateError("'in' is missing");
      block.value = parse_expression(words_, word_, false);
      if (take("if")) block.only_if = parse_expression(words_, word_);
      finish();
      block.branches.push_back({nullptr, body({"else", "endfor"}, depth + 1)});
      if (words_[0].text == "else") block.branches.push_back({nullptr, body({"endfor"}, depth + 1)});
      return;
    }
    if (kind == "set") {
      block.kind = Block::Kind::set;
      block.text = name();
      if (take(".")) block.member = name();
      if (!take("=")) throw TemplateError("set without = is not supported");
      block.value = parse_expression(words_, word_);
      finish();
      return;
    }
    if (kind == "generation" || kind == "endgeneration") return;  // marks for training
    throw TemplateError(fmt::format("the statement {} is not supported", kind));
  }

  static void render(const Block& block, TemplateScopes& scopes, std::string& out) {
    constexpr std::size_t kMostText = std::size_t{64} << 20;
    if (out.size() > kMostText) throw TemplateError("the text became too long");
    switch (block.kind) {
      case Block::Kind::text:
        out += block.text;
        return;
      case Block::Kind::print:
        out += printed(block.value->evaluate(scopes));
        return;
      case Block::Kind::set: {
        Json value = block.value->evaluate(scopes);
        if (block.member.empty()) return scopes.set(block.text, std::move(value));
        Json* space = scopes.find(block.text);
        if (space == nullptr || !space->is_object()) throw TemplateError(fmt::format("{} is no namespace", block.text));
        (*space)[block.member] = std::move(value);
        return;
      }
      case Block::Kind::choice:
        for (const Block::Branch& branch : block.branches) {
          if (branch.condition && !is_true(branch.condition->evaluate(scopes))) continue;
          return render(branch.body, scopes, out);
        }
        return;
      case Block::Kind::loop:
        return render_loop(block, scopes, out);
    }
  }

  static void name_element(const Block& block, TemplateScopes& scopes, const Json& element) {
    if (block.names.size() == 1) return scopes.set(block.names[0], element);
    if (!element.is_array() || element.size() != block.names.size())
      throw TemplateError("elements and names differ in number");
    for (std::size_t i = 0; i < block.names.size(); ++i) scopes.set(block.names[i], element.at(i));
  }

  static void render_loop(const Block& block, TemplateScopes& scopes, std::string& out) {
    const Json walked = block.value->evaluate(scopes);
    std::vector<Json> elements;
    if (walked.is_array()) {
      elements.assign(walked.begin(), walked.end());
    } else if (walked.is_object()) {
      for (const auto& [name, value] : walked.items()) elements.emplace_back(name);
    } else if (!walked.is_discarded()) {
      throw TemplateError("only lists and dictionaries can be walked over");
    }
    scopes.open();
    if (block.only_if) {
      std::erase_if(elements, [&](const Json& element) {
        name_element(block, scopes, element);
        return !is_true(block.only_if->evaluate(scopes));
      });
    }
    const std::size_t count = elements.size();
    for (std::size_t i = 0; i < count; ++i) {
      scopes.count_step();
      scopes.close();  // what one pass sets is unknown to the next
      scopes.open();
      Json loop = {{"index", i + 1},  {"index0", i},           {"first", i == 0},           {"last", i + 1 == count},
                   {"length", count}, {"revindex", count - i}, {"revindex0", count - i - 1}};
      if (i > 0) loop["previtem"] = elements[i - 1];
      if (i + 1 < count) loop["nextitem"] = elements[i + 1];
      scopes.set("loop", std::move(loop));
      name_element(block, scopes, elements[i]);
      render(block.branches[0].body, scopes, out);
    }
    scopes.close();
    if (count == 0 && block.branches.size() > 1) render(block.branches[1].body, scopes, out);
  }

  std::vector<Piece> pieces_;
  std::size_t at_ = 0;
  std::vector<TemplateWord> words_;  // of the statement that was read last
  std::size_t word_ = 0;
};

Result<ChatTemplate> ChatTemplate::parse(std::string_view text) {
  try {
    return TemplateParser::parse(text);
  } catch (const TemplateError& error) {
    return fail("the chat template: {}", error.what());
  }
}

Result<std::string> ChatTemplate::render(const Json& variables) const {
  std::map<std::string, Json> names;
  for (const auto& [name, value] : variables.items()) names[name] = value;
  TemplateScopes scopes(std::move(names));
  std::string text;
  try {
    TemplateParser::render(TemplateParser::body_of(*body_), scopes, text);
  } catch (const TemplateError& error) {
    return fail("the chat template: {}", error.what());
  }
  return text;
}

Result<std::string> ModelChat::render(const Json& messages) const {
  Json variables = tokens;
  variables["messages"] = messages;
  variables["add_generation_prompt"] = true;
  return shape.render(variables);
}

namespace {

// A token in tokenizer_config.json: its text, or an object that holds it.
Json token_text(const Json* token) {
  if (token == nullptr || token->is_null()) return Json("");
  return token->is_object() ? token->at("content") : *token;
}

Result<ModelChat> chat_of_gguf(const Gguf& gguf) {
  const Json* text = gguf.find("tokenizer.chat_template");
  if (text == nullptr || !text->is_string()) return fail("the model has no chat template");
  KW_TRY(ChatTemplate shape, ChatTemplate::parse(text->text()));
  Json tokens = Json::object();
  const Json* all = gguf.find("tokenizer.ggml.tokens");
  for (const char* name : {"bos", "eos"}) {
    const Json* id = gguf.find(fmt::format("tokenizer.ggml.{}_token_id", name));
    tokens[fmt::format("{}_token", name)] =
        id == nullptr || all == nullptr ? Json("") : all->at(id->get<std::int64_t>());
  }
  return ModelChat{std::move(shape), std::move(tokens)};
}

Result<ModelChat> chat_of_folder(const std::filesystem::path& folder) {
  const auto config = read_file(folder / "tokenizer_config.json");
  const Json json = config.ok() ? Json::parse(*config) : Json::object();
  std::string text;
  if (const auto own = read_file(folder / "chat_template.jinja"); own.ok()) {
    text = *own;
  } else if (const Json* kept = json.find("chat_template"); kept != nullptr && kept->is_string()) {
    text = kept->text();
  } else {
    return fail("the model has no chat template");
  }
  KW_TRY(ChatTemplate shape, ChatTemplate::parse(text));
  return ModelChat{
      std::move(shape),
      {{"bos_token", token_text(json.find("bos_token"))}, {"eos_token", token_text(json.find("eos_token"))}}};
}

}  // namespace

Result<ModelChat> chat_of(const ModelFiles& files) {
  try {
    auto chat = files.gguf ? chat_of_gguf(*files.gguf) : chat_of_folder(files.path);
    if (!chat.ok()) return at(files.path.string(), chat.error());
    return chat;
  } catch (const JsonError& error) {
    return fail("{}: its tokenizer's settings: {}", files.path.string(), error.what());
  }
}

}  // namespace kw::lm
