#include "targets/cpu/temperature.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "targets/cpu/host/warmth.h"

namespace kw::cpu {
namespace {

constexpr std::size_t kBallastBytes = std::size_t{8} << 20;

void flush(const std::byte* begin, std::uint64_t size_bytes) {
#if defined(__x86_64__)
  for (std::uint64_t i = 0; i < size_bytes; i += host::kLineBytes) _mm_clflush(begin + i);
  _mm_mfence();
#elif defined(__aarch64__)
  for (std::uint64_t i = 0; i < size_bytes; i += host::kLineBytes) {
    asm volatile("dc civac, %0" : : "r"(begin + i) : "memory");
  }
  asm volatile("dsb sy");
#else
  (void)begin, (void)size_bytes;
#endif
}

}  // namespace

void bring_near(const Layout& layout, int calls, const Arena& inputs, const Arena& outputs) {
  if (layout.input_bytes + layout.output_bytes > host::kMostWarmBytes) return;
  std::vector<std::vector<host::Block>> blocks;
  for (int call = 0; call < calls; ++call) {
    const Layout::Call& buffers = layout.calls[static_cast<std::size_t>(call)];
    std::vector<host::Block>& all = blocks.emplace_back();
    for (const Buffer& one : buffers.inputs) all.push_back({inputs.at(one.offset), one.size_bytes});
    for (const Buffer& one : buffers.outputs) all.push_back({outputs.at(one.offset), one.size_bytes});
  }
  for (int pass = 0; pass < host::kWarmPasses; ++pass) {
    for (const std::vector<host::Block>& all : blocks) host::read_side_by_side(all, host::kLineBytes);
  }
}

void push_out(const Layout& layout, const Arena& inputs, const Arena& outputs) {
  for (const Layout::Call& call : layout.calls) {
    for (const Buffer& buffer : call.inputs) flush(inputs.at(buffer.offset), buffer.size_bytes);
    for (const Buffer& buffer : call.outputs) flush(outputs.at(buffer.offset), buffer.size_bytes);
  }
  static thread_local std::vector<unsigned char> ballast(kBallastBytes);
  for (std::size_t i = 0; i < ballast.size(); i += host::kLineBytes) ++ballast[i];
}

}  // namespace kw::cpu
