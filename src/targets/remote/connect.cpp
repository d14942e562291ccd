#include "targets/remote/connect.h"

#include <algorithm>

#include "base/random.h"
#include "base/terminal.h"

namespace kw::remote {
namespace {

using namespace std::chrono_literals;

// To a shell, and from there to an agent that answers.
constexpr auto kMostConnectTime = 30s;
constexpr auto kMostEmulatorTime = 30s;

// A shell on a device, with what was found out of it first.
struct Shell {
  std::unique_ptr<Link> link;
  std::string mark;     // the beginning of our own lines; a shell may print anything between them
  std::string machine;  // as uname calls it
};

Error unreachable(const Address& address, const Link& link, const std::string& what) {
  const std::string said = link.said();
  return fail("{}: {}{}{}", address.name, what, said.empty() ? "" : ": ", said);
}

// The rest of the next line that begins with the mark.
Result<std::string> marked_line(Shell& shell, const Address& address, Clock::time_point deadline) {
  for (;;) {
    const std::optional<std::string> line = shell.link->receive_line(deadline);
    if (!line) {
      const bool late = Clock::now() >= deadline;
      return unreachable(address, *shell.link, late ? "no answer in 30 seconds" : "no shell there");
    }
    if (line->starts_with(shell.mark + " ")) {
      std::string rest = line->substr(shell.mark.size() + 1);
      if (rest.ends_with('\r')) rest.pop_back();
      return fit_for_a_line(rest);
    }
  }
}

// One line at a time: a shell may read ahead, and must not find there what is meant for others. The folder stays in the
// variable F. In a folder of everybody's, one that is ours alone: an agent in a folder that another user of the device
// has made, or that a link leads to, would be that user's program.
Result<Shell> open_shell(const Address& address, Clock::time_point deadline) {
  Shell shell;
  KW_TRY(shell.link, Link::start(address.words));
  shell.mark =
      fmt::format("kw{:016x}", Random(static_cast<std::uint64_t>(Clock::now().time_since_epoch().count())).bits());
  // In two parts, so that a line that is only echoed has no mark.
  const std::string mark = "\"" + shell.mark.substr(0, 6) + "\"\"" + shell.mark.substr(6) + "\"";
  const std::string hello =
      "F=; for d in /data/local/tmp \"$HOME/.cache\" /tmp; do [ -d \"${d%/.cache}\" ] || continue; "
      "f=\"$d/kw-device-$(id -u)\"; "
      "mkdir -p \"$f\" 2>/dev/null; set -- $(ls -ldn \"$f\" 2>/dev/null); case \"$1\" in d*) [ \"$3\" = \"$(id -u)\" ] "
      "&& chmod 700 \"$f\" 2>/dev/null && [ -w \"$f\" ] && F=\"$f\" && break;; esac; done; "
      "M=" +
      mark + "; echo; echo \"$M\" \"$(uname -m)\"; echo \"$M\" \"$F\"\n";
  if (!shell.link->send(hello, deadline)) return unreachable(address, *shell.link, "cannot be reached");
  KW_TRY(shell.machine, marked_line(shell, address, deadline));
  KW_TRY(const std::string folder, marked_line(shell, address, deadline));
  if (folder.empty()) return fail("{}: no folder there that kw may write to", address.name);
  return shell;
}

Result<Connected> connect_to_shell(Builder& builder, const Address& address) {
  auto deadline = Clock::now() + kMostConnectTime;
  KW_TRY(Shell shell, open_shell(address, deadline));
  const auto architecture = architecture_named(shell.machine);
  if (!architecture.ok()) return at(address.name, architecture.error());
  KW_TRY(const Builder::Agent agent, builder.agent(*architecture));
  deadline = Clock::now() + kMostConnectTime + std::chrono::milliseconds(agent.program.size() / 100);
  // Half an agent, of a link that broke, must not take its name; older versions go when a new one comes.
  const std::string start = fmt::format(
      "A=\"$F/{0}\"; if [ -x \"$A\" ]; then echo; echo \"$M\" have; else echo; echo \"$M\" need; "
      "D=\"$F/draft-$$\"; head -c {1} > \"$D\"; "
      "if [ \"$(wc -c < \"$D\")\" -eq {1} ]; then rm -f \"$F\"/agent-*; chmod 700 \"$D\" && mv \"$D\" \"$A\"; "
      "else rm -f \"$D\"; fi; echo; echo \"$M\" sent; fi; exec \"$A\" \"$F\" {2}\n",
      agent.name, agent.program.size(), address.core);
  if (!shell.link->send(start, deadline)) return unreachable(address, *shell.link, "the link broke");
  KW_TRY(std::string state, marked_line(shell, address, deadline));
  if (state == "need") {
    if (!shell.link->send(agent.program, deadline)) return unreachable(address, *shell.link, "the link broke");
    KW_TRY(state, marked_line(shell, address, deadline));
  }
  KW_TRY(std::shared_ptr<Connection> connection, Connection::meet(std::move(shell.link), address.name, deadline));
  return Connected{std::move(connection), *architecture};
}

Result<Connected> connect_to_emulator(Builder& builder, const Address& address) {
  KW_TRY(const Architecture architecture, architecture_named(address.architecture));
  if (const std::string install = missing_for(architecture, true); !install.empty()) {
    return fail("{} needs programs that are not here; on Debian: {}", address.name, install);
  }
  KW_TRY(const Builder::Agent agent, builder.agent(architecture));
  std::vector<std::string> emulator = {"/usr/bin/" + architecture.emulator};
  emulator.insert(emulator.end(), architecture.emulator_words.begin(), architecture.emulator_words.end());
  std::vector<std::string> words = emulator;
  words.insert(words.end(), {"agent", ".", std::to_string(address.core)});
  words.insert(words.end(), emulator.begin(), emulator.end());
  KW_TRY(std::unique_ptr<Link> link, Link::start_locked(builder.sandbox(), agent.program, words));
  KW_TRY(std::shared_ptr<Connection> connection,
         Connection::meet(std::move(link), address.name, Clock::now() + kMostEmulatorTime));
  return Connected{std::move(connection), architecture};
}

}  // namespace

Result<Connected> connect(Builder& builder, const Address& address) {
  KW_TRY(Connected connected, address.kind == Address::Kind::emulated ? connect_to_emulator(builder, address)
                                                                      : connect_to_shell(builder, address));
  if (const std::uint64_t page = connected.connection->facts().number("page_bytes"); page != 4096) {
    return fail("{}: its memory has pages of {} bytes; kw knows pages of 4096 only", address.name, page);
  }
  const std::vector<std::string> cores = connected.connection->facts().all("core");
  const std::string wanted = std::to_string(address.core) + " ";
  if (address.core >= 0 && std::ranges::none_of(cores, [&](const auto& core) { return core.starts_with(wanted); })) {
    return fail("{}: the device has no core {} that kw may use; it has {} of them", address.name, address.core,
                cores.size());
  }
  return connected;
}

Result<std::string> clean(const Address& address) {
  if (address.kind == Address::Kind::emulated) return std::string();  // it goes with each emulator
  const auto deadline = Clock::now() + kMostConnectTime;
  KW_TRY(Shell shell, open_shell(address, deadline));
  if (!shell.link->send("rm -rf \"$F\" && echo \"$M\" \"$F\"; exit\n", deadline)) {
    return unreachable(address, *shell.link, "the link broke");
  }
  return marked_line(shell, address, deadline);
}

}  // namespace kw::remote
