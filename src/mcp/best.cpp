#include "mcp/best.h"

#include "mcp/desk.h"
#include "runs/machine.h"

namespace kw::mcp {

Result<Best> best_of(const Desk& desk, const Task& task) {
  std::optional<Best> best;
  KW_CHECK(desk.with_store([&](const store::Store* store) -> Status {
    if (!store) return {};
    KW_TRY(const std::string snapshot, runs::snapshot_meant(*store, task.name, &task));
    if (snapshot.empty()) return {};
    KW_TRY(auto accepted_kernels, store->accepted_kernels(snapshot, runs::machine_identity(desk.device())));
    if (accepted_kernels.empty()) return {};
    best.emplace();
    best->ranking = runs::ranking_of(std::move(accepted_kernels));
    KW_TRY(best->source, store->source(best->ranking.best.source_hash));
    return {};
  }));
  if (!best) return fail("no kernel for {} was accepted and timed on this machine yet", task.name);
  return *std::move(best);
}

}  // namespace kw::mcp
