#include "service/best.h"

#include "service/desk.h"
#include "workbench/machine.h"

namespace kw::service {

Result<Best> best_of(const Desk& desk, const Task& task) {
  std::optional<Best> best;
  KW_CHECK(desk.with_store([&](const store::Store* store) -> Status {
    if (!store) return {};
    KW_TRY(const std::string snapshot, workbench::snapshot_meant(*store, task.name, &task));
    if (snapshot.empty()) return {};
    KW_TRY(auto contenders, store->contenders(snapshot, workbench::machine_identity()));
    if (contenders.empty()) return {};
    best.emplace();
    best->ranking = workbench::ranking_of(std::move(contenders));
    KW_TRY(best->source, store->source(best->ranking.best.source_hash));
    return {};
  }));
  if (!best) return fail("no kernel for {} was accepted and timed on this machine yet", task.name);
  return *std::move(best);
}

}  // namespace kw::service
