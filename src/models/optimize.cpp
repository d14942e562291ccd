#include "models/optimize.h"

namespace kw::models {

Result<PutBack> optimize(const Model& model, const Runtime& runtime, const RunTerms& terms, const std::string& device,
                         double within_s, const std::filesystem::path& out, const Search& search, const Tell& tell) {
  tell("measuring the model in ONNX Runtime");
  KW_TRY(const ModelTimes times, where_time_goes(model, runtime, terms, device));
  KW_TRY(const Plan plan, plan_of(model, times, device, within_s));
  std::vector<runs::SearchedTask> found;
  if (!plan.kinds.empty()) {
    KW_TRY(found, search(order_of(plan, device, within_s)));
  }
  return put_back(model, times, plan, found, runtime, terms, out, device, tell);
}

}  // namespace kw::models
