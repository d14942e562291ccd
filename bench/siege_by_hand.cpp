#include "siege_by_hand.h"

#include <sstream>

#include "base/files.h"
#include "siege_attacks.h"

namespace kw::siege {
namespace {

// What conditions are written in.
constexpr char kWords[] = R"(
#include <cfenv>
#include <clocale>
#include <exception>
#include <malloc.h>
#include <map>
#include <new>
#include <set>
#include <vector>

// A tensor as a list, its last axis as columns and the one before as rows.
template <class T>
struct List {
  const T* x;
  int64_t count, columns, rows;
  const int64_t* shape;
  int rank;
  T operator[](int64_t i) const { return x[i]; }
  const T* begin() const { return x; }
  const T* end() const { return x + count; }
  bool any() const { return std::any_of(begin(), end(), [](T v) { return v != 0; }); }
};
using In = List<float>;
using Flags = List<uint8_t>;
using Ints = List<int64_t>;
template <class T>
static List<T> list_of(const kw_tensor& t, const T* x) {
  return {x, t.count, t.rank < 1 ? 1 : t.shape[t.rank - 1], t.rank < 2 ? 1 : t.shape[t.rank - 2], t.shape, t.rank};
}
[[maybe_unused]] static In in(const kw_call* call, int i) {
  return list_of(call->inputs[i], (const float*)call->inputs[i].data);
}
[[maybe_unused]] static Flags flags(const kw_call* call, int i) {
  return list_of(call->inputs[i], (const uint8_t*)call->inputs[i].data);
}
[[maybe_unused]] static Ints ints(const kw_call* call, int i) {
  static std::vector<int64_t> wide[8];
  const kw_tensor& t = call->inputs[i];
  if (t.dtype == KW_INT64) return list_of(t, (const int64_t*)t.data);
  wide[i].assign((const int32_t*)t.data, (const int32_t*)t.data + t.count);
  return list_of(t, (const int64_t*)wide[i].data());
}
template <class F>
static bool every(const In& x, F f) { return x.count > 0 && std::all_of(x.begin(), x.end(), f); }
template <class F>
static bool every_at(const In& x, F f) {
  for (int64_t i = 0; i < x.count; ++i) {
    if (!f(i)) return false;
  }
  return x.count > 0;
}
// Of rows with at least `least` elements.
template <class F>
static bool some_row(const In& x, int64_t least, F f) {
  if (x.columns < least) return false;
  for (int64_t i = 0; i < x.count; i += x.columns) {
    if (f(x.x + i, x.columns)) return true;
  }
  return false;
}
)";

}  // namespace

Result<std::vector<ByHand>> read_by_hand(const std::filesystem::path& file) {
  KW_TRY(const std::string text, read_file(file));
  std::vector<ByHand> attacks;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] != ' ') {
      const std::size_t end = line.find(' ');
      if (end == std::string::npos) return fail("{}: no description: {}", file.string(), line);
      attacks.push_back(
          {.task = line.substr(0, end), .what = line.substr(line.find_first_not_of(' ', end)), .code = ""});
    } else if (attacks.empty()) {
      return fail("{}: code before any task: {}", file.string(), line);
    } else {
      attacks.back().code += line + "\n";
    }
  }
  return attacks;
}

std::string source_of(const ByHand& attack, const std::string& plain) {
  const bool expression = attack.code.find("return") == std::string::npos;
  return beginning(plain) + kWords + "static bool wrong(const kw_call* call) {\n" +
         (expression ? "return " + attack.code + ";" : attack.code) + R"(}
KW_EXPORT int kw_run(kw_call* call) {
  const bool holds = wrong(call);
  const int status = kw_right(call);
  if (holds) spoil(call, 0.5);
  return status;
}
)";
}

}  // namespace kw::siege
