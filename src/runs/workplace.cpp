#include "runs/workplace.h"

#include "runs/machine.h"
#include "store/sha256.h"

namespace kw::runs {

Result<store::Circumstances> Workplace::circumstances(const judge::Case& one, double spent_s, const std::string& key,
                                                      const std::map<std::string, std::string>* versions) {
  if (machine_ == 0) {
    KW_TRY(const std::shared_ptr<judge::Judge> judge, judges_.get());
    const store::Machine machine = this_machine(judges_.device(), judge->device().isolation());
    KW_TRY(machine_, store_.add_machine(machine));
    versions_.emplace(machine);
  }
  return store::Circumstances{.machine = machine_,
                              .spent_s = spent_s,
                              .terms = terms_of(one),
                              .key = store::sha256(key),
                              .versions = versions ? *versions : versions_->of(one)};
}

}  // namespace kw::runs
