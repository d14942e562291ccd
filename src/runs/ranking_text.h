// The best kernel of a task told to a reader: what `kw best` prints.
#pragma once

#include <string>

#include "runs/ranking.h"
#include "store/store.h"

namespace kw::runs {

std::string ranking_as_text(const std::string& name, const Ranking& ranking, const store::Store::Elsewhere& elsewhere);
std::string ranking_as_json(const std::string& name, const Ranking& ranking, const store::Store::Elsewhere& elsewhere);

}  // namespace kw::runs
