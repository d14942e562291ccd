#include "suites/notation.h"

#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/nearest.h"

namespace kw::suites {

std::string Piece::place(std::size_t offset) const { return fmt::format("{}:{}:{}", file, line, column + offset); }

namespace {

constexpr std::int64_t kMostConstantElements = 1 << 20;

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

// Reads a piece from left to right. Every failure is an Error at the place where it was noticed.
class Scanner {
 public:
  explicit Scanner(const Piece& piece) : piece_(piece) {}

  bool at_end() {
    skip_space();
    return at_ >= piece_.text.size();
  }
  char peek() { return at_end() ? '\0' : piece_.text[at_]; }
  bool take(char c) {
    if (peek() != c || at_end()) return false;
    ++at_;
    return true;
  }
  Status expect(char c, std::string_view why) {
    if (take(c)) return {};
    return error("expected '{}' {}", c, why);
  }
  Status expect_end() {
    if (at_end()) return {};
    return error("did not expect '{}' here", std::string(piece_.text.substr(at_)));
  }

  Result<std::string> name(std::string_view what) {
    if (!starts_name(peek())) return error("expected {}", what);
    const std::size_t start = at_;
    while (at_ < piece_.text.size() && in_name(piece_.text[at_])) ++at_;
    return std::string(piece_.text.substr(start, at_ - start));
  }
  bool take_word(std::string_view word) {
    skip_space();
    if (!piece_.text.substr(at_).starts_with(word)) return false;
    const std::size_t end = at_ + word.size();
    if (end < piece_.text.size() && in_name(piece_.text[end])) return false;
    at_ = end;
    return true;
  }

  // An integer as int64, anything else as double.
  Result<Attribute> number() {
    skip_space();
    const std::size_t start = at_;
    std::size_t end = at_;
    while (end < piece_.text.size() && (std::isalnum(static_cast<unsigned char>(piece_.text[end])) ||
                                        std::string_view("+-.").find(piece_.text[end]) != std::string_view::npos)) {
      ++end;
    }
    const std::string word(piece_.text.substr(start, end - start));
    const bool whole = word.find_first_not_of("+-0123456789") == std::string::npos;
    char* stop = nullptr;
    errno = 0;
    if (whole && !word.empty()) {
      const long long value = std::strtoll(word.c_str(), &stop, 10);
      if (*stop == '\0' && errno == ERANGE) return error("{} does not fit into 64 bits", word);
      if (*stop == '\0') {
        at_ = end;
        return Attribute(static_cast<std::int64_t>(value));
      }
    }
    const double value = std::strtod(word.c_str(), &stop);
    if (word.empty() || *stop != '\0') return error("expected a number");
    at_ = end;
    return Attribute(value);
  }

  Result<double> real() {
    KW_TRY(const Attribute value, number());
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
    return std::get<double>(value);
  }

  // 'text' or "text", without escapes.
  Result<std::string> quoted() {
    const char quote = peek();
    const std::size_t start = ++at_;
    const std::size_t end = piece_.text.find(quote, start);
    if (end == std::string_view::npos) return error("the text that starts here has no closing {}", quote);
    at_ = end + 1;
    return std::string(piece_.text.substr(start, end - start));
  }

  std::size_t offset() {
    skip_space();
    return at_;
  }
  void go_back(std::size_t offset) { at_ = offset; }

  template <class... Args>
  Error error(fmt::format_string<Args...> format, Args&&... args) const {
    return kw::at(piece_.place(at_), fail(format, std::forward<Args>(args)...));
  }
  Error error_at(std::size_t offset, const Error& error) const { return kw::at(piece_.place(offset), error); }

 private:
  void skip_space() {
    while (at_ < piece_.text.size() && std::isspace(static_cast<unsigned char>(piece_.text[at_]))) ++at_;
  }

  const Piece& piece_;
  std::size_t at_ = 0;
};

std::vector<std::string> names_of(const Lengths& lengths) {
  std::vector<std::string> names;
  for (const auto& [name, value] : lengths) names.push_back(name);
  return names;
}

// The value of a length that was named before.
Result<Length> known_length(Scanner& scanner, const Lengths& lengths) {
  const std::size_t start = scanner.offset();
  KW_TRY(std::string name, scanner.name("the name of a length"));
  const auto found = lengths.find(name);
  if (found == lengths.end()) {
    return scanner.error_at(start, fail("length '{}' has no value yet; write {}=NUMBER where it is first used{}", name,
                                        name, nearest_hint(name, names_of(lengths))));
  }
  return Length{found->second, std::move(name)};
}

// 8, N=8, or N
Result<Length> length(Scanner& scanner, Lengths& lengths) {
  const std::size_t start = scanner.offset();
  if (!starts_name(scanner.peek())) {
    KW_TRY(const Attribute number, scanner.number());
    const auto* value = std::get_if<std::int64_t>(&number);
    if (!value || *value < 0) return scanner.error_at(start, fail("a length must be a whole number from 0 on"));
    return Length{*value, ""};
  }
  KW_TRY(std::string name, scanner.name("a length"));
  if (!scanner.take('=')) {
    scanner.go_back(start);
    return known_length(scanner, lengths);
  }
  const std::size_t number_start = scanner.offset();
  KW_TRY(const Attribute number, scanner.number());
  const auto* value = std::get_if<std::int64_t>(&number);
  if (!value || *value < 0) return scanner.error_at(number_start, fail("a length must be a whole number from 0 on"));
  const auto [known, first] = lengths.emplace(name, *value);
  if (!first && known->second != *value) {
    return scanner.error_at(start, fail("length '{}' is {} already", name, known->second));
  }
  return Length{*value, std::move(name)};
}

// TYPE[LENGTHS], or TYPE alone for a scalar
Status type_and_lengths(Scanner& scanner, Lengths& lengths, DType& dtype, std::vector<Length>& result) {
  const std::size_t start = scanner.offset();
  KW_TRY(const std::string name, scanner.name("a type such as float32[2, 3]"));
  const auto known = dtype_named(name);
  if (!known) {
    std::vector<std::string> names;
    for (DType type : kAnyType.list()) names.emplace_back(name_of(type));
    return scanner.error_at(start, fail("no type is called '{}'{}", name, nearest_hint(name, names)));
  }
  dtype = *known;
  if (scanner.take('[') && !scanner.take(']')) {
    do {
      KW_TRY(Length one, length(scanner, lengths));
      result.push_back(std::move(one));
    } while (scanner.take(','));
    KW_CHECK(scanner.expect(']', "after the lengths"));
  }
  Shape shape;
  for (const Length& one : result) shape.append(one.value);
  if (const Status fine = check_shape(shape); !fine.ok()) return scanner.error_at(start, fine.error());
  return {};
}

// in [0, 1], normal, normal(0, 2)
Status spread(Scanner& scanner, std::optional<Spread>& result) {
  if (scanner.at_end()) return {};
  result.emplace();
  if (scanner.take_word("in")) {
    result->kind = Spread::Kind::uniform;
    KW_CHECK(scanner.expect('[', "after 'in'"));
    const std::size_t start = scanner.offset();
    KW_TRY(result->low, scanner.real());
    KW_CHECK(scanner.expect(',', "between the ends of the range"));
    KW_TRY(result->high, scanner.real());
    if (!std::isfinite(result->low) || !std::isfinite(result->high) || result->low > result->high) {
      return scanner.error_at(start, fail("a range goes from a smaller to a larger finite number"));
    }
    return scanner.expect(']', "after the range");
  }
  if (!scanner.take_word("normal")) return scanner.error("expected 'in [LOW, HIGH]', 'normal' or nothing");
  if (!scanner.take('(')) return {};
  const std::size_t start = scanner.offset();
  KW_TRY(result->mean, scanner.real());
  KW_CHECK(scanner.expect(',', "between mean and deviation"));
  KW_TRY(result->deviation, scanner.real());
  if (!std::isfinite(result->mean) || !std::isfinite(result->deviation) || result->deviation < 0) {
    return scanner.error_at(start, fail("mean and deviation must be finite, the deviation not negative"));
  }
  return scanner.expect(')', "after the deviation");
}

Status name_and_colon(Scanner& scanner, std::string& name) {
  KW_TRY(name, scanner.name("a name"));
  return scanner.expect(':', "between the name and the type");
}

struct Element {
  Attribute number;
  std::string length;  // its name where it was named
};

Result<Element> element(Scanner& scanner, const Lengths& lengths) {
  if (scanner.take_word("true")) return Element{std::int64_t{1}, ""};
  if (scanner.take_word("false")) return Element{std::int64_t{0}, ""};
  const bool special = scanner.take_word("nan");
  if (special) return Element{std::numeric_limits<double>::quiet_NaN(), ""};
  if (scanner.take_word("inf")) return Element{std::numeric_limits<double>::infinity(), ""};
  if (starts_name(scanner.peek())) {
    KW_TRY(Length length, known_length(scanner, lengths));
    return Element{length.value, std::move(length.name)};
  }
  KW_TRY(Attribute number, scanner.number());
  return Element{std::move(number), ""};
}

Result<std::vector<Element>> elements(Scanner& scanner, const Lengths& lengths) {
  std::vector<Element> result;
  if (scanner.take(']')) return result;
  do {
    KW_TRY(Element one, element(scanner, lengths));
    result.push_back(std::move(one));
  } while (scanner.take(','));
  KW_CHECK(scanner.expect(']', "after the list"));
  return result;
}

// A list is of reals as soon as one of its numbers is.
NodeAttribute list_attribute(const std::vector<Element>& items) {
  NodeAttribute result;
  bool whole = true;
  for (const Element& item : items) whole = whole && std::holds_alternative<std::int64_t>(item.number);
  if (!whole) {
    std::vector<double> reals;
    for (const Element& item : items) {
      const auto* integer = std::get_if<std::int64_t>(&item.number);
      reals.push_back(integer ? static_cast<double>(*integer) : std::get<double>(item.number));
    }
    result.value = std::move(reals);
    return result;
  }
  std::vector<std::int64_t> integers;
  bool named = false;
  for (const Element& item : items) {
    integers.push_back(std::get<std::int64_t>(item.number));
    result.lengths.push_back({integers.back(), item.length});
    named = named || !item.length.empty();
  }
  if (!named) result.lengths.clear();
  result.value = std::move(integers);
  return result;
}

Result<NodeAttribute> attribute_value(Scanner& scanner, const Lengths& lengths) {
  if (scanner.peek() == '\'' || scanner.peek() == '"') {
    KW_TRY(std::string text, scanner.quoted());
    return NodeAttribute{std::move(text), {}};
  }
  if (!scanner.take('[')) {
    KW_TRY(Element one, element(scanner, lengths));
    NodeAttribute result{one.number, {}};
    if (!one.length.empty()) result.lengths = {{std::get<std::int64_t>(one.number), one.length}};
    return result;
  }
  if (scanner.peek() != '\'' && scanner.peek() != '"') {
    KW_TRY(const std::vector<Element> items, elements(scanner, lengths));
    return list_attribute(items);
  }
  std::vector<std::string> texts;
  do {
    if (scanner.peek() != '\'' && scanner.peek() != '"') return scanner.error("expected a text in quotes");
    KW_TRY(std::string text, scanner.quoted());
    texts.push_back(std::move(text));
  } while (scanner.take(','));
  KW_CHECK(scanner.expect(']', "after the list"));
  return NodeAttribute{std::move(texts), {}};
}

Status attributes(Scanner& scanner, const Lengths& lengths, Node& node) {
  if (!scanner.take('<') || scanner.take('>')) return {};
  do {
    const std::size_t start = scanner.offset();
    KW_TRY(const std::string name, scanner.name("the name of an attribute"));
    if (node.attributes.contains(name)) return scanner.error_at(start, fail("attribute '{}' is given twice", name));
    KW_CHECK(scanner.expect('=', "between an attribute and its value"));
    KW_TRY(node.attributes[name], attribute_value(scanner, lengths));
  } while (scanner.take(','));
  return scanner.expect('>', "after the attributes");
}

// A name, or `_` for one that is left out.
Result<std::string> operand(Scanner& scanner, std::string_view what) {
  KW_TRY(std::string name, scanner.name(what));
  return name == "_" ? std::string() : name;
}

}  // namespace

Result<Value> parse_tensor(const Piece& piece, Role role, Lengths& lengths) {
  Scanner scanner(piece);
  Value value;
  value.role = role;
  KW_CHECK(name_and_colon(scanner, value.name));
  KW_CHECK(type_and_lengths(scanner, lengths, value.dtype, value.lengths));
  KW_CHECK(spread(scanner, value.spread));
  KW_CHECK(scanner.expect_end());
  return value;
}

Result<Value> parse_constant(const Piece& piece, Lengths& lengths) {
  Scanner scanner(piece);
  Value value;
  value.role = Role::constant;
  KW_CHECK(name_and_colon(scanner, value.name));
  KW_CHECK(type_and_lengths(scanner, lengths, value.dtype, value.lengths));
  KW_CHECK(scanner.expect('=', "before the values of a constant"));
  std::vector<Element> items;
  const std::size_t start = scanner.offset();
  if (scanner.take('[')) {
    KW_TRY(items, elements(scanner, lengths));
  } else {
    KW_TRY(Element one, element(scanner, lengths));
    items.push_back(std::move(one));
  }
  Shape shape;
  for (const Length& one : value.lengths) shape.append(one.value);
  if (shape.count() > kMostConstantElements) {
    return scanner.error_at(start, fail("a constant may have {} elements at most", kMostConstantElements));
  }
  if (static_cast<std::int64_t>(items.size()) != shape.count()) {
    return scanner.error_at(start, fail("{} values are given for a constant of shape {}", items.size(), shape.text()));
  }
  value.constant = Tensor(value.dtype, shape);
  bool named = false;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    if (const auto* integer = std::get_if<std::int64_t>(&items[i].number)) {
      value.constant.set_integer(index, *integer);
    } else if (is_float(value.dtype)) {
      value.constant.set_real(index, std::get<double>(items[i].number));
    } else {
      return scanner.error_at(start, fail("a constant of type {} needs whole numbers", name_of(value.dtype)));
    }
    value.elements.push_back({value.constant.integer(index), items[i].length});
    named = named || !items[i].length.empty();
  }
  if (!named) value.elements.clear();
  KW_CHECK(scanner.expect_end());
  return value;
}

Result<Node> parse_node(const Piece& piece, const Lengths& lengths) {
  Scanner scanner(piece);
  Node node;
  do {
    KW_TRY(std::string name, operand(scanner, "the name of a result"));
    node.outputs.push_back(std::move(name));
  } while (scanner.take(','));
  KW_CHECK(scanner.expect('=', "between the results and the operator"));
  node.place = piece.place(scanner.offset());
  KW_TRY(node.op, scanner.name("the name of an operator"));
  KW_CHECK(attributes(scanner, lengths, node));
  KW_CHECK(scanner.expect('(', "before the inputs"));
  if (!scanner.take(')')) {
    do {
      KW_TRY(std::string name, operand(scanner, "the name of an input"));
      node.inputs.push_back(std::move(name));
    } while (scanner.take(','));
    KW_CHECK(scanner.expect(')', "after the inputs"));
  }
  KW_CHECK(scanner.expect_end());
  return node;
}

Result<Output> parse_output(const Piece& piece, Lengths& lengths) {
  Scanner scanner(piece);
  Output output;
  KW_TRY(output.name, scanner.name("the name of an output"));
  if (scanner.take(':')) {
    output.dtype.emplace();
    KW_CHECK(type_and_lengths(scanner, lengths, *output.dtype, output.lengths));
  }
  KW_CHECK(scanner.expect_end());
  return output;
}

std::string text_of(const Spread& spread) {
  if (spread.kind == Spread::Kind::uniform) return fmt::format("in [{:g}, {:g}]", spread.low, spread.high);
  if (spread.mean == 0 && spread.deviation == 1) return "normal";
  return fmt::format("normal({:g}, {:g})", spread.mean, spread.deviation);
}

std::string text_of(const Node& node) {
  const auto joined = [](const std::vector<std::string>& names) {
    std::string result;
    for (const std::string& name : names) result += (result.empty() ? "" : ", ") + (name.empty() ? "_" : name);
    return result;
  };
  std::string attributes;
  for (const auto& [name, attribute] : node.attributes) {
    attributes += (attributes.empty() ? "" : ", ") + name + "=" + kw::text_of(attribute.value);
  }
  if (!attributes.empty()) attributes = "<" + attributes + ">";
  return fmt::format("{} = {}{}({})", joined(node.outputs), node.op, attributes, joined(node.inputs));
}

}  // namespace kw::suites
