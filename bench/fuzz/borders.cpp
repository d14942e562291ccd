#include "fuzz/borders.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "agents/answer.h"
#include "base/files.h"
#include "base/json.h"
#include "base/terminal.h"
#include "compose/outside_text.h"
#include "compose/techniques.h"
#include "core/settings_json.h"
#include "core/tunables.h"
#include "inspect/errors.h"
#include "inspect/outline.h"
#include "judge/verdict_json.h"
#include "llm/events.h"
#include "llm/providers.h"
#include "llm/wire.h"
#include "mcp/desk.h"
#include "mcp/gate.h"
#include "mcp/protocol.h"
#include "ops/graph.h"
#include "report/compression_page.h"
#include "rivals/answers.h"
#include "rivals/framework.h"
#include "runs/batch_file.h"
#include "runs/order.h"
#include "settings/settings.h"
#include "store/by_hand.h"
#include "store/exchange.h"
#include "store/packed.h"
#include "suites/catalog.h"
#include "suites/onnx_file.h"
#include "suites/onnx_task.h"
#include "suites/suite.h"
#include "suites/task_snapshot.h"
#include "targets/cuda/emulated/source.h"
#include "targets/cuda/plan.h"
#include "targets/remote/about.h"
#include "targets/remote/loaded.h"

namespace kw::fuzz {
namespace {

namespace fs = std::filesystem;

// Files of a folder that are small enough to be damaged in a way that matters.
std::vector<std::string> files_in(const fs::path& folder, const std::string& ending, std::size_t most = 16) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ending && entry.file_size() < 20'000) paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<std::string> texts;
  for (const fs::path& path : paths) {
    if (texts.size() < most) texts.push_back(*read_file(path));
  }
  return texts;
}

// --- texts -----------------------------------------------------------------------------------------------------------

void take_json(std::string_view text) {
  const Json json = Json::parse_quietly(text);
  if (json.is_discarded()) return;
  promise(Json::parse(json.dump()) == json);
}

void take_settings(std::string_view text) {
  const TextOfFile file{"/nowhere/kw.toml", std::string(text)};
  (void)settings::settings_that_need_trust(file).ok();
  for (const char* name : {"fast", "openai:gpt-5"}) (void)llm::endpoint_named(name, file).ok();
}

void take_suite(std::string_view text) {
  const auto suite = suites::parse_suite(text, "fuzz");
  if (!suite.ok()) return;
  for (const Task& task : suite->tasks) (void)ops::resolve(task).ok();
}

// Each open length gets a value, so that shapes are inferred and not only asked for.
void take_onnx(std::string_view bytes) {
  const auto model = suites::parse_onnx(bytes, "fuzz");
  if (!model.ok()) return;
  Lengths lengths;
  for (const suites::OnnxValue& input : model->inputs) {
    if (!input.lengths) continue;
    for (const Length& length : *input.lengths) {
      if (!length.name.empty()) lengths.emplace(length.name, static_cast<std::int64_t>(2 + lengths.size()));
    }
  }
  for (const auto& task : {suites::task_from_node(*model, "#0", lengths), suites::task_from_model(*model, lengths)}) {
    if (task.ok()) (void)ops::resolve(*task).ok();
  }
}

void take_names(std::string_view text) {
  compose::Identifiers identifiers;
  const std::string once = identifiers.add(text), again = identifiers.add(text);
  promise(once != again);
  for (const std::string& name : {once, again}) {
    promise(!name.empty() && std::ranges::all_of(name, [](char c) { return std::isalnum(c) || c == '_'; }));
  }
  const std::string remark = compose::remark(text), literal = compose::string_literal(text);
  for (const char c : remark) promise(c >= ' ' && c < 127 && c != '\\' && c != '*');
  promise(literal.size() >= 2 && literal.substr(1, literal.size() - 2).find_first_of("\"\n\r?") == std::string::npos);
  promise(compose::file_stem(text).find_first_of("/.") == std::string::npos);
}

void take_terminal(std::string_view text) {
  for (const std::string& shown : {fit_for_terminal(text), fit_for_a_line(text)}) {
    for (const char c : shown) promise(static_cast<unsigned char>(c) >= ' ' || c == '\n' || c == '\t');
    promise(shown.find("\xe2\x80\xae") == std::string::npos && shown.find("\xc2\x9b") == std::string::npos);
  }
}

// --- kernels ---------------------------------------------------------------------------------------------------------

void take_kernel(std::string_view source) {
  const auto tunables = read_tunables(source);
  if (!tunables.ok()) return;
  const auto choice = choose(*tunables, {}, targets::build_options(targets::usual_device()));
  if (choice.ok()) (void)with_tunables_fixed(source, *choice).ok();
}

void take_source_to_show(std::string_view source) {
  (void)inspect::outline_of(source);
  (void)inspect::unclosed_brace(source);
  const auto errors = inspect::errors_in(source, {{"kernel.cpp", std::string(source)}});
  (void)inspect::as_text(errors);
}

Take techniques(const fs::path& scratch) {
  return [file = scratch / "technique.h"](std::string_view text) {
    if (!write_file(file, text).ok()) return;
    (void)compose::read_technique(file).ok();
  };
}

// --- records ---------------------------------------------------------------------------------------------------------

void take_packed(std::string_view bytes) {
  (void)store::unpack(bytes).ok();
  (void)store::unpack_pairs(bytes).ok();
}

void take_recorded(std::string_view text) {
  const std::string json(text);
  (void)judge::verdict_from_json(json).ok();
  (void)suites::task_of_snapshot(json).ok();
  (void)settings_from_json(json).ok();
  (void)runs::order_of({.id = 1, .about = {.strategy = "", .rules = json}}).ok();
  (void)runs::order_of({.id = 1, .about = {.strategy = "auto", .rules = json}}).ok();
  (void)runs::order_of({.id = 1, .about = {.strategy = "rounds", .rules = json}}).ok();
}

store::Store recorded_store(const fs::path& folder) {
  auto made = store::Store::open(folder);
  promise(made.ok());
  const auto run = made->begin_run({.command = "kw eval --batch x", .seed = 7, .rules = R"({"threads":1})"},
                                   std::vector{store::item_by_hand(1, "// one\n"), store::item_by_hand(2, "// two\n")});
  promise(run.ok());
  const Verdict verdict = store::verdict_by_hand(100, 2);
  const auto around = store::around_by_hand(*made->add_machine(store::machine_by_hand()));
  promise(made->record(made->open_items(*run)->at(0).id, verdict, store::json_by_hand(verdict), around).ok());
  return *std::move(made);
}

std::string exported_run() {
  const fs::path folder = fs::temp_directory_path() / fmt::format("kw_fuzz_seed_{}", ::getpid());
  std::ostringstream out;
  promise(store::export_json_lines(recorded_store(folder), 1, out).ok());
  fs::remove_all(folder);
  return out.str();
}

// Every input into an empty store; one that was taken is asked for all that it holds.
Take imports(const fs::path& scratch) {
  auto store = std::make_shared<store::Store>(*store::Store::open(scratch / "store"));
  return [store](std::string_view text) {
    const auto imported = store::import_json_lines(*store, store::lines_in(std::string(text)), "fuzz");
    if (!imported.ok()) return;
    std::ostringstream out;
    (void)store->runs().ok();
    (void)store::export_json_lines(*store, imported->run, out).ok();
    (void)store::export_table(*store, imported->run, out).ok();
    (void)store->open_items(imported->run).ok();
    promise(store->accepted_kernels(store::hash_of(store::task_by_hand()), "this")->empty());
    promise(store->remove_run(imported->run).ok());
  };
}

std::string store_file() {
  const fs::path folder = fs::temp_directory_path() / fmt::format("kw_fuzz_store_{}", ::getpid());
  { (void)recorded_store(folder); }
  std::string bytes = *read_file(store::Store::file_in(folder));
  fs::remove_all(folder);
  return bytes;
}

Take stores(const fs::path& scratch) {
  return [scratch](std::string_view bytes) {
    for (const char* ending : {"", "-wal", "-shm", "-journal"}) {
      fs::remove(store::Store::file_in(scratch).string() + ending);
    }
    if (!write_file(store::Store::file_in(scratch), bytes).ok()) return;
    const auto store = store::Store::open_existing(scratch);
    if (!store.ok()) return;
    (void)store->runs().ok();
    (void)store->each_recorded(1, [](const store::Recorded&) { return Status(); }).ok();
    (void)store->open_items(1).ok();
    (void)store->accepted_kernels(store::hash_of(store::task_by_hand()), "this").ok();
  };
}

Take batches(const fs::path& scratch) {
  return [file = (scratch / "batch.jsonl").string(),
          tasks = std::map<std::string, Task>{{"Relu", *suites::find_task("Relu")}}](std::string_view text) {
    auto known = tasks;
    if (!write_file(file, text).ok()) return;
    auto lines = runs::parse_batch(file, {}, known);
    if (lines.ok()) (void)runs::items_of(*lines, "fuzz");
  };
}

// --- answers ---------------------------------------------------------------------------------------------------------

// The first byte says how it comes: whole or as a stream, in which pieces, and by whose protocol.
void take_llm(std::string_view text) {
  if (text.empty()) return;
  const auto how = static_cast<unsigned char>(text.front());
  text.remove_prefix(1);
  for (const llm::Provider& provider : llm::all_providers()) {
    if (provider.protocol == nullptr) continue;
    const llm::Endpoint endpoint{.provider = &provider, .model = "m"};
    llm::Hearing hearing(*provider.protocol);
    llm::Posted posted{.response = {.status = how % 16 == 0 ? 500 : 200,
                                    .content_type = how % 2 == 0 ? "application/json" : "text/event-stream",
                                    .retry_after_s = {},
                                    .body = {}},
                       .trouble = {}};
    const std::size_t step = how < 64 ? 1 + how % 7 : text.size() + 1;
    for (std::size_t at = 0; at < text.size(); at += step) {
      posted.response.body += text.substr(at, step);
      if (hearing.take(posted.response, text.substr(at, step))) break;
    }
    (void)hearing.answer(posted, endpoint, {});
  }
}

void take_words_of_a_model(std::string_view text) {
  const std::string answer(text);
  (void)agents::code_in(answer, "int x;\nint y;\n");
  (void)agents::plan_in(answer, {{.name = "plan"}, {.name = "kind", .allowed = {"a", "b"}}});
  (void)agents::without_thoughts(answer);
}

void take_rival(std::string_view text) {
  (void)rivals::trial_from_json(std::string(text));
  const auto answer = rivals::answer_in(std::string(text));
  if (!answer.ok()) return;
  (void)rivals::about_in(*answer);
  (void)rivals::folded_in(*answer);
  const auto times = rivals::times_in(*answer, 2);
  if (times.ok()) promise(times->shapes.size() == 2 && times->each_ns.size() == 2);
}

// An agent of kw on a device that is not ours any more: its greeting, its facts, and its answers to everything that the
// judge asks of a kernel.
void take_device(std::string_view bytes) {
  static const Task task = [] {
    Task relu = *suites::find_task("Relu");
    for (auto& [name, length] : relu.lengths) length = 4;
    return relu;
  }();
  static const targets::Instance instance = *targets::make_instance(task, task.lengths, 1);
  auto answers = sandbox::memory_file(bytes);
  Descriptor nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (!answers.ok() || !nowhere) return;
  ::lseek(answers->get(), 0, SEEK_SET);
  const auto later = targets::Clock::now() + std::chrono::seconds(5);
  auto connection =
      remote::Connection::meet(remote::Link::over(std::move(nowhere), std::move(*answers)), "fuzz", later);
  if (!connection.ok()) return;
  const remote::Said& facts = (*connection)->facts();
  const remote::Architecture& arm = remote::all_architectures().front();
  (void)remote::vectors_of(arm, facts);
  for (const std::string& flag : remote::flags_for(arm, facts)) promise(flag.starts_with("-m"));
  promise(remote::own_cache_bytes(facts) <= std::uint64_t{64} << 20);
  for (const std::string& line : facts.all("model")) promise(line == fit_for_a_line(line));
  Random random(7);
  remote::DeviceCalls calls(*connection);
  const targets::Placement places[] = {targets::Placement::aligned, targets::Placement::at_end};
  if (!calls.lay_out(instance, places, random).ok()) return;
  const remote::DeviceBuilt built;
  remote::LoadedOnDevice kernel(*connection, arm, built, calls, {}, 1);
  (void)text_of(kernel.finish_loading(later));
  if (const auto arranged = kernel.arrange(calls, instance, later); arranged.ok()) (void)text_of(*arranged);
  kernel.outputs().poison(0, 7, true);
  (void)text_of(kernel.run(0, 2, later));
  (void)text_of(kernel.outputs().overrun(0, 7));
  Reason problem;
  (void)targets::read_outputs(
      kernel.outputs(), instance, 1, [&](std::size_t output) { return kernel.found_shape(1, output); }, &problem);
  double warm_ns = 0;
  (void)text_of(kernel.make_ready(2, 0, true, &warm_ns, later));
  const targets::Lap lap = kernel.time(2, remote::Settle::near, later);
  promise(lap.ns >= 0 && lap.ns < 1e13 && lap.outside_ns >= 0 && warm_ns >= 0 && warm_ns < 1e13);
  (void)text_of(kernel.behaviour());
}

std::vector<std::string> good_answers_of_a_device() {
  const auto bytes_of = [](const auto& value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  };
  const std::string facts =
      "machine aarch64\npage_bytes 4096\nhwcap 1052928\nhwcap2 8192\nmodel A phone\ncore 7 0x00000000414fd0b0 2400000 "
      "1024\nbest_core 7\ncache 2 Unified 512K\nfilters yes\nfolder /data/local/tmp\n";
  remote::Report report{};
  report.exit_code = report.changed = -1;
  report.filters = 2;
  report.came = 1;
  report.ns = 1000;
  std::string all = remote::kGreeting + bytes_of(std::uint64_t{facts.size()}) + facts;
  const std::string plain = bytes_of(report);
  all += plain + plain;  // loaded, arranged
  report.statuses = 2;
  const std::string statuses(2 * sizeof(std::int32_t), '\0');
  report.read_bytes = 2 * 4 * sizeof(float);
  all += bytes_of(report) + statuses + std::string(report.read_bytes, '\0');  // ran
  report.read_bytes = 0;
  all += plain + bytes_of(report) + statuses + plain;  // made ready, timed, behaved
  report.outcome = remote::Outcome::ended;
  report.statuses = 0;
  report.fault.signal = 11;
  report.fault.address = 4096;
  return {all, all.substr(0, sizeof remote::kGreeting - 1 + 8 + facts.size()) + plain + bytes_of(report)};
}

// --- CUDA kernels and compressed models ----------------------------------------

// A plan comes from a process that runs the kernel's own code.
void take_plan(std::string_view bytes) {
  static const Task task = *suites::find_task("Relu");
  static const targets::Instance instance = *targets::make_instance(task, task.lengths, 1);
  const cuda::PlanLimits limits{.scratch_bytes = 512, .kept_bytes = 512};
  const auto plan = cuda::read_plan(std::as_bytes(std::span(bytes)), instance, limits);
  if (!plan.ok()) return;
  promise(plan->launches.size() <= cuda::kMostLaunches && plan->scratch_bytes <= 512 && plan->kept_bytes <= 512);
  promise(cuda::json_of(cuda::plan_of(cuda::json_of(*plan))) == cuda::json_of(*plan));
}

std::string good_plan() {
  std::string bytes;
  const auto number = [&](std::int64_t one) { bytes.append(reinterpret_cast<const char*>(&one), sizeof one); };
  for (const std::int64_t one : {0x314e414c50574bLL, 1LL, 512LL, 0LL, 0LL, 4LL}) number(one);
  bytes += "relu";
  for (const std::int64_t one : {0, 4, 1, 1, 128, 1, 1, 1, 1, 1, 1024, 4, 0, 0, 1, 0, 2, 256, 4, 4}) number(one);
  return bytes + "abcd";
}

void take_cuda_source(std::string_view source) {
  for (const std::string& name : cuda::kernels_in(std::string(source))) {
    promise(std::ranges::all_of(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }));
  }
  promise(cuda::emulated_source(std::string(source)).ok());
}

void take_compression(std::string_view text) { (void)report::shown_of_compression(Json::parse_quietly(text)).ok(); }

// --- clients ---------------------------------------------------------------------------------------------------------

void take_http(std::string_view text) {
  const std::size_t end = std::min(text.find("\r\n\r\n"), text.size());
  (void)mcp::read_head(text.substr(0, end)).ok();
  // The same bytes as a chunked body, in pieces.
  mcp::ChunkReader reader(1000);
  std::string raw, body;
  for (std::size_t at = 0; at < text.size(); at += 7) {
    raw += text.substr(at, 7);
    if (reader.take(raw, body) != mcp::ChunkReader::State::wants_more) break;
    promise(body.size() <= 1000);
  }
}

Take messages(const fs::path& scratch) {
  std::shared_ptr<mcp::Desk> desk = *mcp::Desk::open({.store_folder = scratch, .command = "fuzz"});
  auto conversation = std::make_shared<mcp::Conversation>(*desk);
  return [desk, conversation](std::string_view text) {
    const mcp::Taken taken = conversation->take(text);
    if (taken.reply) promise(!Json::parse_quietly(taken.reply->text).is_discarded());
    // What is to be worked on is not begun: kernels are judged by other tests.
  };
}

std::vector<std::string> good_messages() {
  std::vector<std::string> made = {
      R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"fuzz","version":"1"}}})",
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"no"}})",
      R"({"jsonrpc":"2.0","id":"five","method":"tools/list"})",
      R"({"jsonrpc":"2.0","id":6,"method":"resources/list","params":{"cursor":"100"}})",
      R"({"jsonrpc":"2.0","id":4,"result":{}})"};
  for (const char* call : {R"("submit_kernel","arguments":{"task":"Relu","source":"int x","settings":{"flags":"-O1"}})",
                           R"("list_tasks","arguments":{"category":"Matrix","limit":3})",
                           R"("wait_for_verdict","arguments":{"id":"r1.1","seconds":0.01})",
                           R"("take_best","arguments":{"task":"Relu"})"}) {
    made.push_back(fmt::format(R"({{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{{"name":{}}}}})", call));
  }
  return made;
}

}  // namespace

std::vector<Border> all_borders(const fs::path& project) {
  const Verdict verdict = store::verdict_by_hand(100, 2);
  const std::string snapshot = suites::snapshot_of(*suites::find_task("Relu"));
  runs::Order search{.kind = store::RunKind::search, .tasks = {*suites::find_task("Relu")}, .out = "/somewhere"};
  const std::vector<std::string> model_answers = {
      R"(a{"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}})",
      "cdata: {\"choices\":[{\"delta\":{\"content\":\"hel\"}}]}\n\ndata: "
      "{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
      R"(b{"content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":2}})",
      "event: content_block_delta\r\ndata: "
      "{\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"x\"}}"
      "\r\n\r\nevent: message_stop\r\ndata: {\"type\":\"message_stop\"}\r\n\r\n",
      R"(p{"error":{"type":"overloaded","message":"later"}})"};
  std::vector<std::string> json = {
      judge::verdict_as_json(verdict), snapshot, runs::run_of(search, "x").rules,
      R"({"a":[1,-2,3.5e-7,true,false,null,"\u00e4\ud83d\ude00\n"],"b":{"c":{}},"d":18446744073709551615})"};
  std::vector<Border> all = {
      without_state("JSON", 150, json, take_json),
      without_state(
          "settings (kw.toml, models)", 60,
          {"rival = \"mnn\"\ninstall = false\nstore = \"x\"\nthreads = 2\nbudget = 1.5\n[model.fast]\nprovider = "
           "\"openai\"\nmodel = \"m\"\nurl = \"http://127.0.0.1:9/v1\"\nkey = \"k\"\ntries = 3\nwhole_s = 9.5\n",
           "[model.\"openai:gpt-5\"]\nprovider = \"command\"\nmodel = \"x y\"\nstream = true\n"},
          take_settings),
      without_state("suites", 50, files_in(project / "tests/corpus/suite", ".toml"), take_suite),
      {"batches",
       4,
       {R"({"task":"Relu","source":"int x;","id":7,"author":"me","notes":"n","set":{"TILE":8},"parents":[1]})"
        "\n"
        R"({"task":"Relu","file":"a.cpp"})"},
       batches},
      without_state("ONNX models", 110, files_in(project / "tests/corpus/onnx_file", ".onnx"), take_onnx),
      {"imports", 15, {exported_run()}, imports},
      {"store files", 4, {store_file()}, stores},
      without_state("packed columns", 80,
                    {store::pack("some text, some text, some text"),
                     store::pack_pairs(std::vector<Pair>{{1, 2}, {3, 4}, {100, 101}})},
                    take_packed),
      without_state("verdicts, tasks, orders of records", 40, json, take_recorded),
      {"MCP messages", 50, good_messages(), messages},
      without_state("HTTP heads and chunks", 110,
                    {"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\nContent-Length: 12\r\n\r\n",
                     "4\r\nabcd\r\n3e;x=y\r\n" + std::string(62, 'x') + "\r\n0\r\nA: b\r\n\r\n"},
                    take_http),
      without_state("answers and events of models", 110, model_answers, take_llm),
      without_state("kernels and plans in answers", 40,
                    {"<think>x</think>Here:\n```cpp\nKW_KERNEL(call) { }\n```\n", R"({"plan":"faster","kind":"a"})",
                     "<<<<<<< SEARCH\nint x;\n=======\nint z;\n>>>>>>> REPLACE\n"},
                    take_words_of_a_model),
      without_state("answers of rivals", 70,
                    {R"({"times_ns":[10,12.5],"overhead_ns":3,"shapes":[[[2,3],[]],null]})",
                     R"({"version":"1.2","settings":["fast","exact"],"folded":"x"})",
                     R"({"state":"right","setting":"fast","why":"","time_ns":10,"overhead_ns":1})", R"({"error":"x"})"},
                    take_rival),
      without_state("answers of devices", 20, good_answers_of_a_device(), take_device),
      without_state("tunables of kernels", 50, files_in(project / "kernels/cpu", ".h", 6), take_kernel),
      without_state("outlines and compiler errors", 6, files_in(project / "tests/failing_compiles", ".cc", 12),
                    take_source_to_show),
      {"directives of techniques", 4, files_in(project / "kernels/cpu", ".h", 6), techniques},
      without_state("names into code", 60,
                    {"x", "scores.weight:0", "a\"; system(\"id\"); //", "*/ int x; /*",
                     "?"
                     "?/\n#x"},
                    take_names),
      without_state("text to the terminal", 40,
                    {"plain \x1b[31m \xe2\x80\xae \xc2\x9b", "\xc3\xa4\xf0\x9f\x98\x80\n\t"}, take_terminal),
      without_state("plans of CUDA kernels", 60, {good_plan()}, take_plan),
      without_state("CUDA kernels to emulate", 10,
                    {"#include <cmath>\nextern \"C\" __global__ void __launch_bounds__(256) a(int x) {\n  extern "
                     "__shared__ __align__(16) float rows[];\n}\ntemplate <class T>\n__global__ void b(T x) {}\n"
                     "#else\nKW_PLAN(plan) { asm volatile(\"x\"); }\n"},
                    take_cuda_source),
      without_state(
          "compressions to draw", 30,
          {R"({"model":"m","method":"svd","ratio":0.5,"saved":0.4,"seconds":3,"switches":["allot"],"errors":[[0.1,0.2]],"ranks":[[3,4]],"full_ranks":[[8,8]],"spectra":[[[1,0.5],[1,0.1]]],"perplexity":{"a":{"original":2,"compressed":3}},"tokens_a_second":{"original":2,"compressed":3}})"},
          take_compression)};
  const auto add = [&](std::vector<Border> more) { std::ranges::move(more, std::back_inserter(all)); };
  add(corpus_borders(project));
  add(agent_borders(project));
#if defined(KW_LM)
  add(lm_borders(project));
#endif
  return all;
}

}  // namespace kw::fuzz
