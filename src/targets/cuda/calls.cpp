#include "targets/cuda/calls.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cassert>
#include <cstring>

#include "base/ziggurat.h"
#include "sandbox/sandbox.h"

namespace kw::cuda {

namespace {

// The bytes of Drawn (kernels/cuda/judge/drawn.cuh).
std::string words_of(const ops::Recipe& recipe) {
  struct {
    std::uint64_t key;
    std::int64_t uniform;
    double first, last, low, high;
  } const words = {recipe.key, recipe.uniform, recipe.first, recipe.last, recipe.low, recipe.high};
  return {reinterpret_cast<const char*>(&words), sizeof words};
}

}  // namespace

SharedMemory::~SharedMemory() {
  if (memory_ != nullptr) ::munmap(memory_, size_bytes_);
}

Status SharedMemory::resize(std::uint64_t size_bytes) {
  const std::uint64_t whole = (std::max<std::uint64_t>(size_bytes, 1) + 4095) / 4096 * 4096;
  if (whole == size_bytes_) return {};
  if (memory_ != nullptr) ::munmap(memory_, size_bytes_);
  memory_ = nullptr;
  size_bytes_ = 0;
  KW_TRY(file_, sandbox::memory_file(whole));
  void* memory = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (memory == MAP_FAILED) return fail("no {} MiB of memory to share with the GPU's worker", whole >> 20);
  memory_ = static_cast<std::byte*>(memory);
  size_bytes_ = whole;
  return {};
}

Status CudaCalls::lay_out(const targets::Instance& instance, std::span<const targets::Placement> places, Random&) {
  return lay_out_parts(instance, places, {});
}

Status CudaCalls::lay_out_parts(const targets::Instance& instance, std::span<const targets::Placement> places,
                                const ops::Parts& parts) {
  places_.assign(places.begin(), places.end());
  slots_.clear();
  index_.assign(places.size(), {});
  std::vector<std::uint64_t> outputs;
  for (const TensorType& type : instance.outputs) outputs.push_back(type.bytes());
  output_bytes_.assign(places.size(), outputs);
  std::uint64_t end = 0;
  for (std::size_t call = 0; call < places.size(); ++call) {
    for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
      if (call > 0 && instance.constant[i]) {
        index_[call].push_back(index_[0][i]);
        continue;
      }
      const std::uint64_t bytes =
          static_cast<std::uint64_t>(instance.inputs[i].shape.count()) * size_bytes(instance.inputs[i].dtype);
      index_[call].push_back(slots_.size());
      const bool drawn = i < parts.recipes.size() && parts.recipes[i];
      slots_.push_back({.offset = end, .size_bytes = bytes, .version = 1, .drawn = drawn});
      if (drawn) continue;
      end = (end + bytes + 63) / 64 * 64;
    }
  }
  return memory_.resize(end);
}

void CudaCalls::write(std::size_t call, std::size_t input, const Tensor& value) {
  Slot& slot = slot_of(call, input);
  assert(!slot.drawn && value.bytes().size() == slot.size_bytes);
  std::memcpy(memory_.at(slot.offset), value.bytes().data(), slot.size_bytes);
  ++slot.version;
}

void CudaCalls::draw_with(std::string code) {
  const auto ends = std::as_bytes(ziggurat_ends());
  drawing_ = std::make_shared<const targets::SharedCalls::Drawing>(
      std::move(code), std::string(reinterpret_cast<const char*>(ends.data()), ends.size()));
}

void CudaCalls::draw(std::size_t call, std::size_t input, const ops::Recipe& recipe) {
  Slot& slot = slot_of(call, input);
  assert(slot.drawn);
  slot.recipe = recipe;
  ++slot.version;
}

void CudaCalls::surround(std::size_t call, std::size_t input, std::uint8_t before, std::uint8_t after) {
  Slot& slot = slot_of(call, input);
  slot.before = before;
  slot.after = after;
  ++slot.version;
}

// Kernels see copies on the GPU, which are written right before a lap; what lies here they never see.
void CudaCalls::erase(std::size_t, std::size_t) {}

std::optional<targets::SharedCalls> CudaCalls::shared_with(const targets::Outputs& outputs) const {
  const auto* theirs = dynamic_cast<const FrameworkOutputs*>(&outputs);
  if (theirs == nullptr) return std::nullopt;
  targets::SharedCalls shared{
      .inputs_file = memory_.file(), .outputs_file = theirs->memory().file(), .calls = {}, .drawing = drawing_};
  for (std::size_t call = 0; call < index_.size(); ++call) {
    targets::SharedCalls::Call& one = shared.calls.emplace_back();
    for (const std::size_t index : index_[call]) {
      one.inputs.push_back(slots_[index].offset);
      if (drawing_ != nullptr) one.drawn.push_back(slots_[index].drawn ? words_of(slots_[index].recipe) : "");
    }
    one.outputs = theirs->offsets()[call];
  }
  return shared;
}

Result<std::unique_ptr<targets::Outputs>> FrameworkOutputs::make(const CudaCalls& calls) {
  auto made = std::make_unique<FrameworkOutputs>();
  made->bytes_ = calls.output_bytes();
  std::uint64_t end = 0;
  for (const std::vector<std::uint64_t>& call : made->bytes_) {
    std::vector<std::uint64_t>& offsets = made->offsets_.emplace_back();
    for (const std::uint64_t bytes : call) {
      offsets.push_back(end);
      end = (end + bytes + 63) / 64 * 64;
    }
  }
  KW_CHECK(made->memory_.resize(end));
  return std::unique_ptr<targets::Outputs>(std::move(made));
}

void FrameworkOutputs::read(std::size_t call, std::size_t output, std::span<std::byte> bytes) const {
  std::memcpy(bytes.data(), memory_.at(offsets_[call][output]), bytes.size());
}

}  // namespace kw::cuda
