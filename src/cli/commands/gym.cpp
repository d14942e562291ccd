// kw gym: the judge as a reward for programs that train a model.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <ostream>
#include <thread>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/interruption.h"
#include "cli/rival_flags.h"
#include "cli/run_at_terminal.h"
#include "cli/store_folder.h"
#include "cli/target_flag.h"
#include "command_line/numbers.h"
#include "corpus/gym.h"
#include "corpus/prompt.h"
#include "corpus/task_text.h"
#include "mcp/desk.h"
#include "suites/catalog.h"

namespace kw::cli::commands {
namespace {

constexpr char kPlainRival[] = "plain";

Result<int> print_prompt(const Arguments& arguments, const std::string& device, std::ostream& out) {
  KW_TRY(const Lengths dims, parse_dims(arguments.texts("--dim")));
  KW_TRY(const Task task, suites::find_task(arguments.text("--prompt"), dims));
  KW_TRY(const std::string prompt, corpus::prompt_of(task, device));
  if (!arguments.has("--json")) {
    out << prompt;
    return kYes;
  }
  KW_TRY(const std::string text, corpus::text_of(task));
  out << Json{{"task", task.name}, {"prompt", prompt}, {"task_text", text}, {"form", corpus::kPromptForm}}.dump()
      << "\n";
  return kYes;
}

Result<int> run_gym(const Arguments& arguments, std::ostream& out) {
  KW_TRY(const std::string device, device_of(arguments));
  if (arguments.has("--prompt")) return print_prompt(arguments, device, out);
  corpus::GymRules rules;
  if (arguments.has("--against")) rules.against = arguments.text("--against");
  if (arguments.has("--budget")) {
    KW_TRY(rules.budget_s, number_in("--budget", arguments.text("--budget"), 0.01, 60));
  }
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  KW_TRY(const std::int64_t at_once, whole_number(arguments, "--at-once", 4 * cores, 1, 1024));
  rules.at_once = static_cast<int>(at_once);
  KW_TRY(const runs::Rivals rivals, rivals_named(rules.against == kPlainRival ? "none" : rules.against));
  KW_TRY(const std::unique_ptr<mcp::Desk> desk,
         mcp::Desk::open({.device = device,
                          .store_folder = store_folder(arguments),
                          .command = command_line(),
                          .rivals = rivals.names(),
                          .frameworks = [&](const Task& task, int threads) { return rivals.of(task, threads); },
                          .most_waiting = static_cast<std::size_t>(at_once)}));
  ::signal(SIGPIPE, SIG_IGN);
  // Nothing but answers goes where the trainer listens: what else writes to standard output lands on standard error.
  const int client = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  runs::Stop stop;
  const Interruption interruption(stop, [&] { desk->stop(); });
  corpus::Gym gym(*desk, rules);
  gym.serve(STDIN_FILENO, client);
  desk->stop();
  ::_exit(kYes);  // the warden ends with this process
}

}  // namespace

Command gym() {
  return {
      .name = "gym",
      .topic = Topic::language_models,
      .summary = "rewards kernels for a program that trains a model, over JSON lines",
      .description =
          "Reads a request a line from standard input and answers each with a line on standard output, in the order "
          "of completion: many kernels are built and examined together, one is timed alone. A request is an object: "
          "task (a name) or task_text (as a corpus has it), and source; or prefix, answer and suffix of a hole that "
          "was filled in, where source in place of answer is the whole text as the model wrote it; id, which comes "
          "back, and set (an object of tunables) may be there.\n\n"
          "An answer has built, right, stage, reason, errors, speedup (against, median, low, high, pairs, claimed), "
          "reward, verdict (its name in the record), id and line. The reward is 0 unless the kernel was accepted, "
          "that is built, right on hidden shapes and values, and honest when timed; then it is log2(1 + low) of the "
          "lower end of the paired interval against the rival, at most 4. Text that does not survive around a hole, "
          "or loses its meaning by what was filled in, is stage hole and reward 0. A line with error instead could "
          "not be judged, which is no fault of the kernel. The service ends with its input.",
      .options = {{.name = "--against", .value = "RIVAL", .help = "whose time counts: plain, mnn, onnxruntime (plain)"},
                  {.name = "--budget", .value = "S", .help = "seconds that timing a kernel may take (0.25)"},
                  {.name = "--at-once", .value = "N", .help = "requests that are taken at once (four for each core)"},
                  {.name = "--prompt",
                   .value = "TASK",
                   .help = "print what a model is asked for this task, and end",
                   .completes = Completes::task},
                  target_option(),
                  store_option(),
                  dim_option(),
                  {.name = "--json", .help = "with --prompt: one object, with task_text"}},
      .examples = {"kw gym --prompt Softmax", "kw gym --prompt Relu --json"},
      .run = run_gym};
}

}  // namespace kw::cli::commands
