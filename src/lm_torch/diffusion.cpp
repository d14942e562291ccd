#include "lm_torch/diffusion.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/nearest.h"
#include "base/random.h"

namespace kw::lm {
namespace {

constexpr std::int64_t kKeysAtOnce =
    16;  // attention masks on GPUs have lengths in these steps; positions beyond the text are masked

// A text that is being filled.
struct Row {
  std::size_t text = 0;
  std::vector<std::int32_t> ids;  // all of it, masks where nothing is yet
  std::vector<bool> masked;
  std::int64_t stored = 0;  // tokens whose keys and values are kept: whole blocks
  std::int64_t step = 0;    // passes over the current block
  std::vector<std::int32_t> steps;

  std::int64_t block_end(std::int64_t block) const { return std::min(stored + block, std::ssize(ids)); }
  bool block_is_whole(std::int64_t block) const {
    return std::find(masked.begin() + stored, masked.begin() + block_end(block), true) ==
           masked.begin() + block_end(block);
  }
  bool is_whole() const { return std::find(masked.begin() + stored, masked.end(), true) == masked.end(); }
};

class Filling {
 public:
  Filling(const Network& network, const std::vector<Blank>& blanks, const Sampling& sampling,
          const Denoising& denoising, const std::function<bool(std::size_t, std::int32_t)>& tell, Decoder* decoder)
      : network_(network), decoder_(decoder), blanks_(blanks), sampling_(sampling), denoising_(denoising), tell_(tell) {
    block_ = denoising.block > 0 ? denoising.block : network.config().block_length;
    steps_ = denoising.steps > 0 ? std::min(denoising.steps, block_) : block_;
    made_.texts.resize(blanks.size());
    cache_.keys.resize(network.layers().size());
    cache_.values.resize(network.layers().size());
  }

  Result<Diffused> run() {
    for (std::size_t i = 0; i < blanks_.size(); ++i) {
      KW_TRY(Row row, begin(i));
      rows_.push_back(std::move(row));
    }
    read_prompts();
    while (!rows_.empty() && !stopped_) {
      pass();
      drop_done();
    }
    return std::move(made_);
  }

 private:
  Result<Row> begin(std::size_t text) const {
    const Blank& blank = blanks_[text];
    const ModelConfig& config = network_.config();
    KW_CHECK(network_.check_ids(blank.before));
    KW_CHECK(network_.check_ids(blank.after));
    assert(blank.length > 0 || blank.after.empty());
    const std::int64_t before = std::ssize(blank.before), after = std::ssize(blank.after);
    const std::int64_t least = before + after + std::max<std::int64_t>(blank.length, 1);
    if (least > config.context) {
      return fail("the text has {} tokens{}, the model takes {}", before + after,
                  blank.length > 0 ? fmt::format(" around a hole of {}", blank.length) : "", config.context);
    }
    std::int64_t whole = before + blank.length + after;
    // The model has learnt whole blocks: an open end is written up to the end of its last one, and cut.
    if (blank.length == 0) {
      whole = std::min(config.context, (before + sampling_.most_tokens + block_ - 1) / block_ * block_);
    }
    Row row{.text = text, .ids = blank.before};
    row.ids.resize(static_cast<std::size_t>(whole - after), static_cast<std::int32_t>(*config.mask_id));
    row.masked.assign(row.ids.size(), true);
    std::fill_n(row.masked.begin(), before, false);
    row.ids.insert(row.ids.end(), blank.after.begin(), blank.after.end());
    row.masked.resize(row.ids.size(), false);
    row.steps.assign(row.ids.size(), -1);
    row.stored = before / block_ * block_;
    return row;
  }

  at::TensorOptions on_device() const { return at::TensorOptions(at::kLong).device(network_.options().device()); }

  void make_room(std::int64_t tokens) {
    for (std::vector<at::Tensor>* const kept : {&cache_.keys, &cache_.values}) {
      for (at::Tensor& one : *kept) {
        if (one.defined() && one.size(2) >= tokens) continue;
        const ModelConfig& config = network_.config();
        const at::Tensor larger =
            at::zeros({std::ssize(rows_), config.kv_heads, std::max<std::int64_t>(2 * tokens, 64), config.head_size},
                      network_.options());
        if (one.defined()) larger.slice(2, 0, one.size(2)).copy_(one);
        one = larger;
      }
    }
  }

  // The whole blocks of what is before each hole, under a block-causal mask; texts one after the other, since they are
  // of any length.
  void read_prompts() {
    std::int64_t longest = 0;
    for (const Row& row : rows_) longest = std::max(longest, row.stored);
    make_room(longest + block_);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const std::int64_t count = rows_[i].stored;
      if (count == 0) continue;
      const at::Tensor places = at::arange(count, on_device()), blocks = at::floor_divide(places, block_);
      KeyValueCache alone{.keys = std::vector<at::Tensor>(network_.layers().size()),
                          .values = std::vector<at::Tensor>(network_.layers().size())};
      Pass pass =
          network_.pass_over(places.view({1, -1}), (blocks.view({1, 1, -1}) <= blocks.view({1, -1, 1})).contiguous());
      pass.cache = &alone;
      std::vector<std::int64_t> ids(rows_[i].ids.begin(), rows_[i].ids.begin() + count);
      network_.run(at::tensor(ids, at::kLong).view({1, -1}), pass);
      const auto row = static_cast<std::int64_t>(i);
      for (std::size_t layer = 0; layer < alone.keys.size(); ++layer) {
        cache_.keys[layer][row].slice(1, 0, count).copy_(alone.keys[layer][0].slice(1, 0, count));
        cache_.values[layer][row].slice(1, 0, count).copy_(alone.values[layer][0].slice(1, 0, count));
      }
    }
  }

  // One pass over the current block of every row. Its keys and values lie in the cache where the block is: a block that
  // still has masks is written over by the next pass, one that had none counts as stored from now on. Where most rows
  // have such a whole block, the pass goes over the block after it too: the first pass that fills it.
  void pass() {
    ++made_.passes;
    const std::int64_t rows = std::ssize(rows_);
    const auto whole = std::ranges::count_if(rows_, [&](const Row& row) { return row.block_is_whole(block_); });
    const std::int64_t width = 2 * whole >= rows ? 2 * block_ : block_;
    std::int64_t keys = 0, tokens = 0;
    for (const Row& row : rows_) {
      keys = std::max(keys, row.stored + width);
      tokens += row.block_end(width) - row.stored;
    }
    keys = (keys + kKeysAtOnce - 1) / kKeysAtOnce * kKeysAtOnce;
    make_room(keys);
    const bool few = decoder_ != nullptr && tokens <= Decoder::kMostTokens;
    std::vector<std::int64_t> firsts = few ? run_decoder(width) : run_network(width, keys);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      Row& row = rows_[i];
      if (!row.block_is_whole(block_)) continue;
      row.stored += block_;
      row.step = 0;
      firsts[i] = width > block_ ? firsts[i] + block_ : -1;
    }
    unmask(firsts, few);
  }

  // Over `width` places of every row; where in the pass each row's first place is.
  std::vector<std::int64_t> run_decoder(std::int64_t width) {
    ++made_.decoded;
    std::vector<Stretch> stretches;
    std::vector<std::int64_t> firsts;
    std::int64_t tokens = 0;
    for (const Row& row : rows_) {
      const std::int64_t count = row.block_end(width) - row.stored;
      stretches.push_back({.ids = {row.ids.data() + row.stored, static_cast<std::size_t>(count)},
                           .begin = row.stored,
                           .text = std::ssize(firsts)});
      firsts.push_back(tokens);
      tokens += count;
    }
    decoder_->run(stretches, block_, cache_);
    return firsts;
  }

  std::vector<std::int64_t> run_network(std::int64_t width, std::int64_t keys) {
    const std::int64_t rows = std::ssize(rows_);
    at::Tensor ids = at::full({rows, width}, *network_.config().mask_id, at::kLong);
    at::Tensor begins = at::empty({rows, 1}, at::kLong), ends = at::empty({rows, 1, 1}, at::kLong);
    std::vector<std::int64_t> firsts;
    for (std::int64_t i = 0; i < rows; ++i) {
      const Row& row = rows_[static_cast<std::size_t>(i)];
      std::copy(row.ids.begin() + row.stored, row.ids.begin() + row.block_end(width),
                ids.data_ptr<std::int64_t>() + i * width);
      begins.data_ptr<std::int64_t>()[i] = row.stored;
      ends.data_ptr<std::int64_t>()[i] = std::ssize(row.ids);
      firsts.push_back(i * width);
    }
    const auto device = network_.options().device();
    // Texts that stand at the same place see all keys before and in their block: no mask is needed.
    const std::int64_t stored = rows_.front().stored;
    const bool together = width == block_ && std::ranges::all_of(rows_, [&](const Row& row) {
                            return row.stored == stored && row.block_end(width) == stored + width;
                          });
    const std::int64_t count = together ? stored + width : keys;
    const at::Tensor places = begins.to(device) + at::arange(width, on_device()).view({1, -1}),
                     key_places = at::arange(count, on_device()).view({1, 1, -1});
    const at::Tensor block_ends = ((at::floor_divide(places, block_) + 1) * block_).unsqueeze(-1);
    // What a last block that is short lacks sees itself, and nothing sees it.
    const at::Tensor seen =
        together ? at::Tensor()
                 : ((key_places < block_ends) & (key_places < ends.to(device))) | (key_places == places.unsqueeze(-1));
    Pass pass = network_.pass_over(places, seen);
    pass.keys = count;
    pass.cache = &cache_;
    pass.places = places.view({rows, 1, width, 1});
    states_ = network_.run(ids, pass).reshape({rows * width, -1});
    return firsts;
  }

  // Logits at these places of the last pass, of which the mask has none.
  at::Tensor logits_at(const std::vector<std::int64_t>& wanted, bool of_decoder) {
    at::Tensor logits;
    if (of_decoder) {
      const auto made = decoder_->logits(wanted);
      logits = at::from_blob(made.data(), {std::ssize(wanted), network_.config().vocabulary}, at::kFloat);
    } else {
      const at::Tensor some = at::tensor(wanted, at::kLong).to(states_.device());
      logits = network_.head(states_.index_select(0, some));
      if (!logits.is_cuda()) logits = logits.to(at::kFloat);
    }
    logits.select(1, *network_.config().mask_id).fill_(-INFINITY);
    return logits;
  }

  // Fills of each row's block, whose first place in the pass is in `firsts`, what is sure enough; -1: nothing.
  void unmask(const std::vector<std::int64_t>& firsts, bool of_decoder) {
    std::vector<std::int64_t> wanted, without_end;  // masked places; those of them where no text can end
    std::vector<double> numbers;
    std::map<Row*, std::vector<std::size_t>> by_row;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      Row& row = rows_[i];
      for (std::int64_t place = row.stored; firsts[i] >= 0 && place < row.block_end(block_); ++place) {
        if (!row.masked[static_cast<std::size_t>(place)]) continue;
        if (blanks_[row.text].length > 0) without_end.push_back(std::ssize(wanted));
        wanted.push_back(firsts[i] + place - row.stored);
        numbers.push_back(number_for(sampling_.seed, row.text, place, row.step));
        by_row[&row].push_back(static_cast<std::size_t>(place));
      }
    }
    if (wanted.empty()) return;
    const at::Tensor logits = logits_at(wanted, of_decoder);
    for (const std::int64_t end : network_.config().end_ids) {
      if (without_end.empty() || end < 0 || end >= logits.size(1)) continue;
      logits.select(1, end).index_fill_(0, at::tensor(without_end, at::kLong).to(logits.device()), -INFINITY);
    }
    const std::vector<Chosen> all = choose_many(logits, sampling_, numbers);
    auto next = all.begin();
    for (Row& row : rows_) {
      const auto found = by_row.find(&row);
      if (found == by_row.end()) continue;
      const std::vector<std::size_t>& places = found->second;
      const std::vector<Chosen> chosen(next, next + std::ssize(places));
      next += std::ssize(places);
      for (const std::size_t kept : kept_after(chosen, block_, row.step, steps_, denoising_)) {
        row.ids[places[kept]] = chosen[kept].id;
        row.masked[places[kept]] = false;
        row.steps[places[kept]] = static_cast<std::int32_t>(row.step);
      }
      ++row.step;
      if (row.block_is_whole(block_)) take(row);
    }
  }

  // What the block that has just become whole adds to its text.
  void take(const Row& row) {
    Filled& filled = made_.texts[row.text];
    const Blank& blank = blanks_[row.text];
    const auto& end_ids = network_.config().end_ids;
    for (std::int64_t place = row.stored; place < row.block_end(block_); ++place) {
      const auto index = static_cast<std::size_t>(place);
      if (row.steps[index] < 0) continue;
      filled.trace.push_back(row.ids[index]);
      filled.steps.push_back(row.steps[index]);
      const bool limited = blank.length == 0 && std::ssize(filled.ids) >= sampling_.most_tokens;
      if (filled.ended || limited) continue;
      filled.ended = std::ranges::find(end_ids, row.ids[index]) != end_ids.end();
      if (filled.ended) continue;
      filled.ids.push_back(row.ids[index]);
      if (tell_ && !tell_(row.text, row.ids[index])) stopped_ = true;
    }
    if (blank.length > 0 && row.is_whole()) filled.ended = true;
  }

  void drop_done() {
    std::vector<std::int64_t> left;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row& row = rows_[i];
      const bool between = !row.block_is_whole(block_);
      if (between || (!made_.texts[row.text].ended && !row.is_whole())) left.push_back(static_cast<std::int64_t>(i));
    }
    if (left.size() == rows_.size()) return;
    std::vector<Row> rows;
    for (const std::int64_t i : left) rows.push_back(std::move(rows_[static_cast<std::size_t>(i)]));
    rows_ = std::move(rows);
    if (rows_.empty()) return;
    const at::Tensor kept = at::tensor(left, at::kLong).to(network_.options().device());
    for (std::vector<at::Tensor>* const tensors : {&cache_.keys, &cache_.values}) {
      for (at::Tensor& one : *tensors) one = one.index_select(0, kept);
    }
  }

  const Network& network_;
  Decoder* const decoder_;
  const std::vector<Blank>& blanks_;
  const Sampling& sampling_;
  const Denoising& denoising_;
  const std::function<bool(std::size_t, std::int32_t)>& tell_;
  std::int64_t block_ = 0, steps_ = 0;
  std::vector<Row> rows_;
  KeyValueCache cache_;  // by row; its length is not used: each row has its own
  at::Tensor states_;    // of the network's last pass
  Diffused made_;
  bool stopped_ = false;
};

}  // namespace

Result<Unmask> unmask_named(const std::string& name) {
  if (name == "static") return Unmask::fixed;
  if (name == "dynamic") return Unmask::dynamic;
  if (name == "sequential") return Unmask::sequential;
  return fail("there is no way of unmasking '{}': static, dynamic or sequential{}", name,
              nearest_hint(name, {"static", "dynamic", "sequential"}));
}

double number_for(std::uint64_t seed, std::size_t text, std::int64_t place, std::int64_t step) {
  Random mixed(seed);
  for (const std::uint64_t part :
       {static_cast<std::uint64_t>(text), static_cast<std::uint64_t>(place), static_cast<std::uint64_t>(step)}) {
    mixed = Random(mixed.bits() + part);
  }
  return mixed.unit();
}

std::vector<std::size_t> kept_after(const std::vector<Chosen>& chosen, std::int64_t block, std::int64_t step,
                                    std::int64_t steps, const Denoising& denoising) {
  const std::int64_t count = std::min<std::int64_t>(std::ssize(chosen), block / steps + (step < block % steps ? 1 : 0));
  std::vector<std::size_t> order(chosen.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (denoising.unmask != Unmask::sequential) {
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return chosen[a].share > chosen[b].share; });
  }
  std::int64_t kept = std::max<std::int64_t>(count, 1);
  if (denoising.unmask == Unmask::dynamic) {
    const auto sure = std::ranges::count_if(chosen, [&](const Chosen& one) { return one.share > denoising.threshold; });
    kept = std::max<std::int64_t>(kept, sure);
  }
  order.resize(static_cast<std::size_t>(kept));
  return order;
}

Result<Diffused> diffuse(const Network& network, const std::vector<Blank>& blanks, const Sampling& sampling,
                         const Denoising& denoising, const std::function<bool(std::size_t, std::int32_t)>& tell,
                         Decoder* decoder) {
  const ModelConfig& config = network.config();
  if (config.predicts_next() || !config.mask_id) {
    return fail("a {} model is no block-diffusion model: it does not fill masks", name_of(config.family));
  }
  const at::NoGradGuard no_gradients;
  return Filling(network, blanks, sampling, denoising, tell, decoder).run();
}

}  // namespace kw::lm
