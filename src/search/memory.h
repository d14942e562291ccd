// Memory across tasks: what won on one task is tried first on its likes, and what never wins is tried last.
//
// Like are tasks of the same operators; the nearer in size, the more a lesson counts. Lessons are kept in the store,
// for each machine and device apart. Where a task was never searched on this one, what won on others of the record
// counts too, half as much: a search on a phone begins with what won on the host.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "ops/graph.h"
#include "search/strategy.h"
#include "store/lessons.h"

namespace kw::search {

// "Conv+Conv"
std::string family_of(const ops::Graph& graph);

// As points of this space; lessons about techniques or settings that it does not have are left out.
Result<std::vector<PastResult>> recall(const store::Store& store, const std::string& machine_identity,
                                       const ops::Graph& graph, const Space& space);

// What the values of tunables, compilers and flags did, over all tasks but this one.
Result<std::vector<Leaning>> recall_leanings(const store::Store& store, const std::string& machine_identity,
                                             const ops::Graph& graph);

// Keeps what a search observed.
Status remember(const store::Store& store, const std::string& machine_identity, const ops::Graph& graph,
                const Space& space, const std::vector<Observation>& observations);

}  // namespace kw::search
