// kw-nvrtc: compiles a CUDA source with NVRTC, in the sandbox, as g++ compiles a kernel for the CPU.
//
//   kw-nvrtc LIBRARY SOURCE RESULT [NVRTC OPTION]...
//
// LIBRARY is libnvrtc, SOURCE the file to compile, RESULT what gets the device's machine code (a cubin). What NVRTC
// says goes to standard output. Ends with 0, with 1 where the source does not compile, with 3 where NVRTC cannot be
// used.
#include <dlfcn.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/files.h"

namespace {

constexpr int kDoesNotCompile = 1;
constexpr int kNoCompiler = 3;

using Program = struct ProgramOf*;

template <class F>
F function_named(void* library, const char* name) {
  return reinterpret_cast<F>(::dlsym(library, name));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "kw-nvrtc is a part of kw and is started by it\n");
    return kNoCompiler;
  }
  void* library = ::dlopen(argv[1], RTLD_NOW);
  if (library == nullptr) {
    std::printf("%s\n", ::dlerror());
    return kNoCompiler;
  }
  const auto create =
      function_named<int (*)(Program*, const char*, const char*, int, const char* const*, const char* const*)>(
          library, "nvrtcCreateProgram");
  const auto compile = function_named<int (*)(Program, int, const char* const*)>(library, "nvrtcCompileProgram");
  const auto log_size = function_named<int (*)(Program, std::size_t*)>(library, "nvrtcGetProgramLogSize");
  const auto log = function_named<int (*)(Program, char*)>(library, "nvrtcGetProgramLog");
  const auto cubin_size = function_named<int (*)(Program, std::size_t*)>(library, "nvrtcGetCUBINSize");
  const auto cubin = function_named<int (*)(Program, char*)>(library, "nvrtcGetCUBIN");
  if (create == nullptr || compile == nullptr || log_size == nullptr || log == nullptr || cubin_size == nullptr ||
      cubin == nullptr) {
    std::printf("%s is no NVRTC that makes machine code\n", argv[1]);
    return kNoCompiler;
  }
  const auto source = kw::read_file(argv[2]);
  if (!source.ok()) {
    std::printf("%s\n", source.error().message.c_str());
    return kNoCompiler;
  }
  Program program = nullptr;
  if (create(&program, source->c_str(), argv[2], 0, nullptr, nullptr) != 0) {
    std::printf("NVRTC could not start\n");
    return kNoCompiler;
  }
  const std::vector<const char*> options(argv + 4, argv + argc);
  const int status = compile(program, static_cast<int>(options.size()), options.data());
  std::size_t size = 0;
  if (log_size(program, &size) == 0 && size > 1) {
    std::string text(size, '\0');
    log(program, text.data());
    std::printf("%s\n", text.c_str());
  }
  if (status != 0) return status == 6 ? kDoesNotCompile : kNoCompiler;  // 6: NVRTC_ERROR_COMPILATION
  if (cubin_size(program, &size) != 0 || size == 0) {
    std::printf("NVRTC made no machine code for this architecture\n");
    return kNoCompiler;
  }
  std::string code(size, '\0');
  cubin(program, code.data());
  const kw::Status written = kw::write_file(argv[3], code);
  if (!written.ok()) std::printf("%s\n", written.error().message.c_str());
  return written.ok() ? 0 : kNoCompiler;
}
