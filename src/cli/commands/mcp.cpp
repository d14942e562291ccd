// kw mcp: the judge as tools for any coding agent, over the Model Context Protocol.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <ostream>

#include "base/json.h"
#include "base/print.h"
#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/interruption.h"
#include "cli/rival_flags.h"
#include "cli/run_at_terminal.h"
#include "cli/store_folder.h"
#include "cli/target_flag.h"
#include "command_line/numbers.h"
#include "mcp/desk.h"
#include "mcp/http.h"
#include "mcp/stdio.h"
#include "mcp/tool.h"
#include "suites/catalog.h"

namespace kw::cli::commands {
namespace {

constexpr int kUsualPort = 8765;

Result<int> list_tools(std::ostream& out) {
  for (const mcp::tools::Maker make : mcp::tools::table) {
    const mcp::Tool tool = make();
    print(out, "{:<18} {}\n", tool.name, tool.title);
  }
  return kYes;
}

Result<int> port_of(const Arguments& arguments) {
  if (!arguments.has("PORT")) return kUsualPort;
  const std::string text = arguments.text("PORT");
  const auto port = whole_number_in("PORT", text, 0, 65535);
  if (!port.ok()) return fail("PORT {}: a port is a number up to 65535; 0 takes any that is free", text);
  return static_cast<int>(*port);
}

std::string token_given() {
  const char* token = std::getenv("KW_MCP_TOKEN");
  return token ? token : "";
}

// What most agents read: a server by its name.
Result<int> print_config(const Arguments& arguments, std::ostream& out) {
  Json server;
  if (arguments.has("--http")) {
    KW_TRY(const int port, port_of(arguments));
    server = {{"type", "http"},
              {"url", fmt::format("http://127.0.0.1:{}/mcp", port)},
              {"headers", {{"Authorization", "Bearer ${KW_MCP_TOKEN}"}}}};
  } else {
    std::error_code failed;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
    Json words = Json::array({"mcp"});
    if (arguments.has("--store")) {
      words.push_back("--store");
      words.push_back(arguments.text("--store"));
    }
    server = {{"type", "stdio"}, {"command", failed ? "kw" : program.string()}, {"args", std::move(words)}};
  }
  out << Json{{"mcpServers", {{"kernelwright", std::move(server)}}}}.dump(2) << "\n";
  return kYes;
}

// Nothing but the protocol goes where the client listens: what else writes to standard output lands on standard error.
int take_standard_output() {
  const int out = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  return out;
}

// The warden and all that it holds end with this process: what is being judged need not be waited for.
[[noreturn]] void end(mcp::Desk& desk) {
  desk.stop();
  ::_exit(kYes);
}

Result<int> serve_http(const Arguments& arguments, mcp::Desk& desk) {
  std::string token = token_given();
  const bool is_new = token.empty();
  if (is_new) token = mcp::new_token();
  KW_TRY(const int port, port_of(arguments));
  KW_TRY(mcp::HttpServer server, mcp::HttpServer::open(desk, {.port = port, .token = token}));
  fmt::print(stderr, "kw: serving {}\n", server.url());
  fmt::print(stderr, "kw: {}\n", is_new ? "the token is " + token : "the token is that of KW_MCP_TOKEN");
  runs::Stop stop;
  const Interruption interruption(stop, [&] { desk.stop(); });
  server.serve();
  end(desk);
}

Result<int> run_mcp(const Arguments& arguments, std::ostream& out) {
  if (arguments.has("--tools")) return list_tools(out);
  if (arguments.has("--config")) return print_config(arguments, out);
  if (arguments.has("PORT") && !arguments.has("--http")) return fail("a port is for --http: kw mcp --http 8765");
  std::vector<Task> tasks;  // looked for first: what comes next may install rivals
  for (const std::string& name : arguments.texts("--task")) {
    KW_TRY(Task task, suites::find_task(name));
    tasks.push_back(std::move(task));
  }
  KW_TRY(const std::string device, device_of(arguments));
  KW_TRY(const runs::Rivals rivals, rivals_of(arguments, device));
  mcp::DeskRules rules{.device = device,
                       .store_folder = store_folder(arguments),
                       .command = command_line(),
                       .rivals = rivals.names(),
                       .frameworks = [&](const Task& task, int threads) { return rivals.of(task, threads); },
                       .tasks = std::move(tasks)};
  KW_TRY(const std::unique_ptr<mcp::Desk> desk, mcp::Desk::open(std::move(rules)));
  ::signal(SIGPIPE, SIG_IGN);
  if (arguments.has("--http")) return serve_http(arguments, *desk);
  const int client = take_standard_output();
  runs::Stop stop;
  const Interruption interruption(stop, [&] { desk->stop(); });
  mcp::serve_descriptors(*desk, STDIN_FILENO, client);
  end(*desk);
}

}  // namespace

Command mcp() {
  return {
      .name = "mcp",
      .topic = Topic::language_models,
      .summary = "serves the judge as tools for coding agents (Model Context Protocol)",
      .description =
          "Speaks the Model Context Protocol (2025-06-18, 2025-11-25 and 2026-07-28) on standard input and output, or "
          "with --http on 127.0.0.1 alone. An agent can list and read tasks, start from a kernel, submit kernels, wait "
          "for verdicts, read notes on them, take the best and compare. Everything submitted is recorded; hidden "
          "shapes "
          "and expected values stay with the judge.\n\n"
          "Over HTTP every request needs the token that is printed on standard error at the start, or the one in "
          "KW_MCP_TOKEN: Authorization: Bearer TOKEN. The default PORT is 8765; 0 takes a free one.\n\n"
          "It ends when its client closes the connection (or with Ctrl-C); what is not judged then, `kw resume` "
          "judges.",
      .options = {{.name = "PORT", .help = "of --http (8765)"},
                  {.name = "--http", .help = "serve over HTTP instead of standard input and output"},
                  {.name = "--tools", .help = "list the tools, and end"},
                  {.name = "--config", .help = "print what an agent's configuration needs, and end"},
                  {.name = "--task",
                   .value = "TASK",
                   .help = "offer this task too: model.onnx:NODE or suite.toml:NAME",
                   .repeated = true,
                   .completes = Completes::task},
                  target_option(),
                  rival_option(),
                  store_option()},
      .examples = {"kw mcp --tools", "kw mcp --config --http"},
      .run = run_mcp};
}

}  // namespace kw::cli::commands
