#include "rivals/site.h"

#include "judge/judge.h"
#include "rivals/worker.h"
#include "targets/target.h"

namespace kw::rivals {
namespace {

class Here final : public Site {
 public:
  explicit Here(const RivalFile& rival) : rival_(rival) {}

  Result<std::unique_ptr<targets::Worker>> start() override { return LocalWorker::start(rival_); }
  std::filesystem::path kept() const override { return rival_.environment(); }
  std::string wanted_version() const override { return rival_.own ? std::string() : rival_.version(); }
  std::string remedy() const override {
    return fmt::format("kw rivals install {} --fresh makes its environment anew", rival_.name);
  }
  judge::FrameworkStatus bring(const std::filesystem::path& folder, ModelFiles* files) override {
    *files = {.model = (folder / "task.onnx").string(), .folder = folder.string()};
    return std::nullopt;
  }
  Result<Stage> make_stage(const targets::Instance& instance, int calls) override {
    Stage stage;
    KW_TRY(const targets::Target target, targets::target_of(targets::usual_device()));
    KW_TRY(stage.calls, target.make_shared_calls());
    KW_CHECK(lay_out(*stage.calls, instance, calls));
    KW_TRY(stage.outputs, target.make_shared_outputs(*stage.calls));
    return stage;
  }

 private:
  RivalFile rival_;
};

}  // namespace

std::unique_ptr<Site> here(const RivalFile& rival) { return std::make_unique<Here>(rival); }

Status lay_out(targets::Calls& memory, const targets::Instance& instance, int calls) {
  Random random(1);
  const std::vector<targets::Placement> places(static_cast<std::size_t>(calls), targets::Placement::aligned);
  return memory.lay_out(instance, places, random);
}

}  // namespace kw::rivals
