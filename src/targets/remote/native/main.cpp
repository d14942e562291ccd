// Runs a framework's native library on a device, for who compares kernels with it: the part of rivals/shared/worker.py,
// without Python. kw's agent starts it with a socket as descriptor 3; one JSON object a packet.
//
//   PROGRAM mnn|ncnn|onnxruntime LIBRARY
//
// Times are taken as the Python worker takes them, with the same calls before them: what both say can be compared.
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "targets/remote/native/begin.h"
#include "targets/remote/native/json.h"
#include "targets/remote/native/mnn.h"
#include "targets/remote/native/ncnn.h"
#include "targets/remote/native/onnxruntime.h"

namespace kw::native {
namespace {

constexpr int kLink = 3;
constexpr std::size_t kMostCommandBytes = 1 << 20;
// As in worker.py.
constexpr double kWarmUpNs = 1'000'000, kWarmUpBelowNs = 2'000'000;
constexpr int kWarmUpCalls = 5, kOverheadCalls = 9;

double now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

Framework* framework_named(const std::string& name) {
  if (name == "onnxruntime") return new OnnxRuntime();
  if (name == "ncnn") return new Ncnn();
  return name == "mnn" ? new Mnn() : nullptr;
}

// A file of tensors, mapped as long as the calls that lie in it.
class Arena {
 public:
  void open(int file, bool writable) {
    close();
    size_ = static_cast<std::size_t>(std::max<off_t>(::lseek(file, 0, SEEK_END), 1));
    void* at = ::mmap(nullptr, size_, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file, 0);
    memory_ = at == MAP_FAILED ? nullptr : static_cast<char*>(at);
    ::close(file);
  }
  void close() {
    if (memory_ != nullptr) ::munmap(memory_, size_);
    memory_ = nullptr;
  }
  // False: not all of it is there.
  bool place(Array& array, std::int64_t offset) const {
    array.data = memory_ + offset;
    return memory_ != nullptr && offset >= 0 && array.bytes() >= 0 &&
           offset + array.bytes() <= static_cast<std::int64_t>(size_);
  }

 private:
  char* memory_ = nullptr;
  std::size_t size_ = 0;
};

// One model and the calls that are arranged for it.
class Side {
 public:
  Framework* framework = nullptr;

  std::size_t calls() const { return calls_; }

  std::string load(const Value& command) {
    calls_ = 0;
    return framework->load({.model = command["model"].text,
                            .setting = command["setting"].text,
                            .threads = static_cast<int>(command["threads"].whole()),
                            .inputs = command["inputs"].texts(),
                            .outputs = command["outputs"].texts()});
  }

  std::string arrange(const Value& command, const int* files) {
    calls_ = 0;
    inputs_.open(files[0], false);
    outputs_.open(files[1], true);
    std::vector<Call> calls;
    for (const Value& offsets : command["calls"].items) {
      if (offsets.size() != 2) return "a call without its tensors";
      Call& call = calls.emplace_back();
      if (!place(command["types"]["inputs"], offsets.items[0], inputs_, call.inputs) ||
          !place(command["types"]["outputs"], offsets.items[1], outputs_, call.outputs)) {
        return "tensors that are not there";
      }
    }
    const std::string why = framework->bind(calls);
    if (why.empty()) calls_ = calls.size();
    return why;
  }

  // "times_ns" and "shapes" of the calls, or why there are none.
  std::string run(const Value& command, std::string& answer) {
    const auto first = static_cast<std::size_t>(command["first"].whole());
    const auto count = static_cast<std::size_t>(command["count"].whole());
    const auto warm = static_cast<std::size_t>(command["warm"].whole());
    if (warm >= calls_ || first > calls_ || count > calls_ - first) return "calls that are not there";
    std::string why;
    double last = 0;
    for (const double begun = now_ns(); why.empty() && now_ns() - begun <= kWarmUpNs;) why = time(warm, last);
    // One after the other, so that no branch is foretold by what the last call saw.
    const bool warms = last < kWarmUpBelowNs;
    for (int i = 0; i < (warms ? kWarmUpCalls : 0); ++i) {
      for (std::size_t call = first; call < first + count && why.empty(); ++call) why = time(call, last);
    }
    std::string times, all_shapes;
    for (std::size_t i = 0; i < count && why.empty(); ++i) {
      // On other values: `fetch` has come between.
      if (warms) why = time(first + (i > 0 ? i - 1 : count - 1), last);
      if (why.empty()) why = time(first + i, last);
      std::vector<Shape> shapes;
      if (why.empty()) why = framework->fetch(first + i, shapes);
      times += (i > 0 ? "," : "") + decimal(last);
      all_shapes += i > 0 ? "," : "";
      all_shapes += shapes.empty() ? "null" : "[";
      for (std::size_t k = 0; k < shapes.size(); ++k) all_shapes += (k > 0 ? "," : "") + list_of(shapes[k]);
      if (!shapes.empty()) all_shapes += "]";
    }
    answer = "\"times_ns\":[" + times + "],\"shapes\":[" + all_shapes + "]";
    return why;
  }

  double overhead_ns() {
    std::vector<double> times;
    for (int i = 0; i < kOverheadCalls; ++i) {
      double ns = 0;
      if (time(0, ns).empty()) times.push_back(ns);
    }
    std::sort(times.begin(), times.end());
    return times.empty() ? 0 : times[times.size() / 2];
  }

 private:
  static bool place(const Value& types, const Value& offsets, const Arena& arena, std::vector<Array>& arrays) {
    if (types.size() != offsets.size()) return false;
    for (std::size_t i = 0; i < types.size(); ++i) {
      Array& array = arrays.emplace_back();
      array.dtype = types.items[i]["dtype"].text;
      array.shape = types.items[i]["shape"].wholes();
      if (!arena.place(array, offsets.items[i].whole())) return false;
    }
    return true;
  }

  std::string time(std::size_t call, double& ns) {
    std::string why = framework->feed(call);
    if (!why.empty()) return why;
    const double begin = now_ns();
    framework->run(call);
    ns = now_ns() - begin;
    return why;
  }

  Arena inputs_, outputs_;
  std::size_t calls_ = 0;
};

// The next command with its files; false: kw is gone.
bool receive(std::string& text, int* files) {
  static char* const room = new char[kMostCommandBytes];
  iovec bytes{room, kMostCommandBytes};
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = ::recvmsg(kLink, &message, 0);
  if (got <= 0) return false;
  text.assign(room, static_cast<std::size_t>(got));
  files[0] = files[1] = -1;
  const cmsghdr* head = CMSG_FIRSTHDR(&message);
  if (head != nullptr && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(2 * sizeof(int))) {
    __builtin_memcpy(files, CMSG_DATA(const_cast<cmsghdr*>(head)), 2 * sizeof(int));
  }
  return true;
}

std::string answer_to(const Value& command, const int* files, Side& task, Side& nothing) {
  Side& side = command["of"].text == "nothing" ? nothing : task;
  const std::string& what = command["do"].text;
  std::string why, answer;
  if (what == "about") {
    answer = "\"version\":" + quoted(task.framework->version()) + ",\"settings\":[";
    const std::vector<std::string> settings = task.framework->settings();
    for (std::size_t i = 0; i < settings.size(); ++i) answer += (i > 0 ? "," : "") + quoted(settings[i]);
    answer += "]";
  } else if (what == "load") {
    why = side.load(command);
    answer = "\"folded\":\"\"";
  } else if (what == "arrange") {
    why = files[0] < 0 ? "tensors that did not come" : side.arrange(command, files);
    answer = "\"arranged\":true";
  } else if (what == "run") {
    why = side.run(command, answer);
    if (why.empty() && &side == &task && nothing.calls() > 0) {
      answer += ",\"overhead_ns\":" + decimal(nothing.overhead_ns());
    }
  } else {
    why = "a command that this program does not know";
  }
  return why.empty() ? "{" + answer + ",\"ok\":true}" : "{\"error\":" + quoted(why) + "}";
}

}  // namespace
}  // namespace kw::native

extern "C" int kw_main(int argc, char** argv) {
  using namespace kw::native;
  Side task, nothing;
  std::string missing = "kw's program for native frameworks is started by its agent";
  if (argc == 3) {
    void* library = ::dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    const char* said = library == nullptr ? ::dlerror() : nullptr;
    missing = library != nullptr ? "" : said != nullptr ? said : "the library cannot be loaded";
    for (Side* side : {&task, &nothing}) {
      if (!missing.empty()) continue;
      side->framework = framework_named(argv[1]);
      missing = side->framework != nullptr ? side->framework->open(library) : "no framework of this name is known";
    }
  }
  std::string text;
  for (int files[2]; receive(text, files);) {
    const std::string answer =
        missing.empty() ? answer_to(Reader(text).next(), files, task, nothing) : "{\"error\":" + quoted(missing) + "}";
    if (::send(kLink, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) return 1;
  }
  return 0;
}
