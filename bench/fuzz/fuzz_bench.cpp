// Damaged inputs at every border: does anything crash, hang or leak?
//
//   kw_fuzz_bench [COUNT [SEED [BORDER]]]      1,000,000 in all unless said; BORDER: only those whose name begins so
//
// Good inputs are damaged at random (bits, bytes, pieces cut, doubled, exchanged with other inputs', numbers at the
// edges of their types) and given to the function that reads them, in a process of its own for each border. Of a crash
// or an input that takes longer than five seconds the bytes are kept in the working folder, and the process begins anew
// behind it. An input follows from the seed, the border and its number. Memory is the process's after a fifth of the
// inputs and at their end. With a sanitizer (kw_fuzz_leaks; the preset dev), whose own memory grows, leaks are found
// when the process ends. Exit code 1 where anything was found.
#include <fmt/core.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <thread>

#include "base/files.h"
#include "base/hash.h"
#include "fuzz/borders.h"

extern "C" void __lsan_do_leak_check() __attribute__((weak));  // of the leak sanitizer, where it is linked

namespace {

namespace fs = std::filesystem;
using namespace kw;
using namespace kw::fuzz;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kMostTime = 5s;
constexpr std::size_t kMostBytes = std::size_t{1} << 18;

const char* sanitizer() {
#if defined(__SANITIZE_ADDRESS__)
  return "with the address sanitizer";
#else
  return __lsan_do_leak_check != nullptr ? "with the leak sanitizer" : "without sanitizers";
#endif
}

// --- damage ----------------------------------------------------------------------------------------------------------

class Damage {
 public:
  explicit Damage(std::uint64_t seed) : random_(seed) {}

  std::string of(const std::vector<std::string>& seeds) {
    std::string text = seeds[below(seeds.size())];
    for (std::size_t times = 1 + below(below(4) == 0 ? 16 : 4); times > 0; --times) change(text, seeds);
    if (text.size() > kMostBytes) text.resize(kMostBytes);
    return text;
  }

 private:
  std::size_t below(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_); }

  void change(std::string& text, const std::vector<std::string>& seeds) {
    static const std::vector<std::string> tokens = {"0",
                                                    "-1",
                                                    "1e308",
                                                    "-1e-320",
                                                    "9223372036854775807",
                                                    "18446744073709551616",
                                                    "2147483648",
                                                    "null",
                                                    "true",
                                                    "{}",
                                                    "[]",
                                                    "[[[[[[[[",
                                                    "{\"a\":",
                                                    "\"",
                                                    "\\",
                                                    "\\u0000",
                                                    "\\ud800",
                                                    "\r\n\r\n",
                                                    "\n",
                                                    "\t",
                                                    "\x1b[31m",
                                                    "\xe2\x80\xae",
                                                    "\xff\xfe",
                                                    "*/",
                                                    "//",
                                                    "?"
                                                    "?/",
                                                    "\"\"\"",
                                                    "'''",
                                                    "=",
                                                    "..",
                                                    "/",
                                                    "../../etc/passwd",
                                                    std::string(1, '\0'),
                                                    "%s%n",
                                                    "${x}",
                                                    "</script>",
                                                    std::string(300, '['),
                                                    std::string(2000, 'a'),
                                                    "ffffffff\r\n",
                                                    "data: ",
                                                    "kind",
                                                    "1.#INF",
                                                    "nan"};
    const std::size_t at = text.empty() ? 0 : below(text.size());
    const std::size_t length =
        text.empty() ? 0 : 1 + below(std::min<std::size_t>(text.size() - at, below(4) == 0 ? 4096 : 16));
    switch (below(10)) {
      case 0:
        if (!text.empty()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 1:
        if (!text.empty()) text[at] = static_cast<char>(below(256));
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.resize(at);
        break;
      case 4:
        text.insert(at, text.substr(at, length));
        break;
      case 5: {
        const std::string& other = seeds[below(seeds.size())];
        if (!other.empty()) text.insert(at, other.substr(below(other.size()), 1 + below(64)));
        break;
      }
      case 6:
        text.replace(at, length, tokens[below(tokens.size())]);
        break;
      case 7:
        text.insert(at, tokens[below(tokens.size())]);
        break;
      case 8:  // a number, as text
        if (const std::size_t digit = text.find_first_of("0123456789", at); digit != std::string::npos) {
          text.replace(digit, text.find_first_not_of("0123456789", digit) - digit, tokens[below(7)]);
        }
        break;
      default:  // a number, as bytes
        for (std::size_t i = at; i < std::min(text.size(), at + (std::size_t{1} << below(4))); ++i) {
          text[i] = static_cast<char>(below(2) == 0 ? 0xff : 0x7f);
        }
    }
  }

  std::mt19937_64 random_;
};

std::string input_of(const Border& border, std::uint64_t seed, std::int64_t number) {
  return Damage(seed ^ hash_of(border.name) ^ static_cast<std::uint64_t>(number) * 0x9e3779b97f4a7c15).of(border.seeds);
}

// --- one border ------------------------------------------------------------------------------------------------------

// What the process that tries the inputs tells the one that watches it.
struct Shared {
  std::atomic<std::int64_t> number;  // of the input that is being tried
  std::atomic<std::int64_t> done;
  std::atomic<std::int64_t> slowest_us;
  std::atomic<std::int64_t> early_kb;
  std::atomic<std::int64_t> late_kb;
};

std::int64_t memory_kb() {
  std::ifstream file("/proc/self/statm");
  std::int64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * (::sysconf(_SC_PAGESIZE) / 1024);
}

[[noreturn]] void try_inputs(const Border& border, std::uint64_t seed, std::int64_t first, std::int64_t count,
                             Shared& shared) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const fs::path scratch = fs::temp_directory_path() / fmt::format("kw_fuzz_{}", ::getpid());
  fs::create_directories(scratch);
  {
    const Take take = border.begin(scratch);
    for (std::int64_t i = first; i < count; ++i) {
      const std::string input = input_of(border, seed, i);
      shared.number = i;
      const auto begin = Clock::now();
      take(input);
      const auto took = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count();
      shared.slowest_us = std::max<std::int64_t>(shared.slowest_us, took);
      shared.done = i + 1;
      if (i == count / 5) shared.early_kb = memory_kb();
    }
    shared.late_kb = memory_kb();
  }
  std::error_code ignored;
  fs::remove_all(scratch, ignored);
  std::exit(0);  // and not _exit: the sanitizer looks for leaks
}

struct Found {
  int crashes = 0, hangs = 0, leaks = 0;
  double seconds = 0;
  std::int64_t grown_kb = 0, slowest_us = 0;

  bool anything() const { return crashes + hangs + leaks > 0; }
};

void keep(const Border& border, const std::string& input, std::int64_t number, const char* what) {
  const std::string file = fmt::format("fuzz-{}-{:08x}-{}.bin", what, hash_of(border.name) & 0xffffffff, number);
  if (write_file(file, input).ok())
    fmt::print(stderr, "{}: {} at input {}, kept in {}\n", border.name, what, number, file);
}

Found tried(const Border& border, std::uint64_t seed, std::int64_t count, Shared& shared) {
  constexpr int kMostFound = 20;  // then the border is given up
  Found found;
  const auto begin = Clock::now();
  std::memset(static_cast<void*>(&shared), 0, sizeof shared);
  for (std::int64_t first = 0; first < count && found.crashes + found.hangs < kMostFound;) {
    shared.number = -1;
    std::fflush(nullptr);  // what is not out yet would come out twice
    const pid_t child = ::fork();
    if (child == 0) try_inputs(border, seed, first, count, shared);
    std::int64_t watched = -1;
    auto since = Clock::now();
    int status = 0;
    bool hangs = false;
    while (::waitpid(child, &status, WNOHANG) == 0) {
      if (shared.number != watched) {
        watched = shared.number;
        since = Clock::now();
      } else if (watched >= 0 && shared.done < count && Clock::now() - since > kMostTime) {
        hangs = true;
        ::kill(child, SIGKILL);
      }
      std::this_thread::sleep_for(5ms);
    }
    if (!hangs && WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
    if (shared.done >= count) {
      ++found.leaks;  // it came to the end, and the sanitizer had something to say
      break;
    }
    ++(hangs ? found.hangs : found.crashes);
    const std::int64_t number = std::max<std::int64_t>(shared.number, first);
    keep(border, input_of(border, seed, number), number, hangs ? "hang" : "crash");
    first = number + 1;
  }
  found.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  found.grown_kb = shared.late_kb - shared.early_kb;
  found.slowest_us = shared.slowest_us;
  return found;
}

}  // namespace

int main(int count, char** words) {
  const std::int64_t inputs = count > 1 ? std::atoll(words[1]) : 1'000'000;
  const auto seed = static_cast<std::uint64_t>(count > 2 ? std::atoll(words[2]) : 1);
  const std::string only = count > 3 ? words[3] : "";
  // Nothing of the user's is read or written.
  const fs::path home = fs::temp_directory_path() / fmt::format("kw_fuzz_home_{}", ::getpid());
  fs::create_directories(home);
  for (const char* name : {"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"}) ::setenv(name, home.c_str(), 1);

  const std::vector<Border> borders = all_borders(KW_SOURCE_DIR);
  double weights = 0;
  for (const Border& border : borders) weights += border.name.starts_with(only) ? border.weight : 0;
  auto* shared =
      static_cast<Shared*>(::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  fmt::print("{} damaged inputs, seed {}, {}\n\n{:<36} {:>8} {:>7} {:>5} {:>5} {:>8} {:>10} {:>7}\n", inputs, seed,
             sanitizer(), "border", "inputs", "crashes", "hangs", "leaks", "slowest", "memory", "time");
  Found all;
  std::int64_t given = 0;
  for (const Border& border : borders) {
    if (!border.name.starts_with(only)) continue;
    if (border.seeds.empty()) {
      fmt::print(stderr, "{}: has no good inputs\n", border.name);
      return 2;
    }
    const auto share = static_cast<std::int64_t>(std::ceil(static_cast<double>(inputs) * border.weight / weights));
    const Found found = tried(border, seed, share, *shared);
    fmt::print("{:<36} {:>8} {:>7} {:>5} {:>5} {:>5} ms {:>+7.1f} MB {:>5.1f} s\n", border.name, share, found.crashes,
               found.hangs, found.leaks, found.slowest_us / 1000, static_cast<double>(found.grown_kb) / 1000,
               found.seconds);
    std::fflush(stdout);
    given += share;
    all.crashes += found.crashes;
    all.hangs += found.hangs;
    all.leaks += found.leaks;
    all.seconds += found.seconds;
  }
  fmt::print("{:<36} {:>8} {:>7} {:>5} {:>5} {:>8} {:>10} {:>5.0f} s\n", "all", given, all.crashes, all.hangs,
             all.leaks, "", "", all.seconds);
  std::error_code ignored;
  fs::remove_all(home, ignored);
  return all.anything() ? 1 : 0;
}
