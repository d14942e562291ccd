#include "compose/plain.h"

#include <filesystem>

#include "base/files.h"

namespace kw::compose {

Result<std::filesystem::path> file_of(const std::string& op) {
  KW_TRY(const std::filesystem::path data, data_folder());
  return data / "kernels" / "plain" / (op + ".h");
}

bool is_there(const std::string& op) {
  const auto file = file_of(op);
  return file.ok() && std::filesystem::exists(*file);
}

Result<std::string> plain_kernel(const ops::Graph& graph) {
  std::vector<Piece> pieces;
  for (const ops::GraphNode& node : graph.nodes) {
    const std::string& op = node.call.op->name;
    if (!is_there(op)) {
      return fail("{}: there is no plain kernel of {} yet (kernels/plain/{}.h)", graph.task->name, op, op);
    }
    KW_TRY(std::filesystem::path file, file_of(op));
    pieces.push_back({.file = std::move(file)});
  }
  return compose(graph, pieces, "a plain kernel to start from. 'kw show' prints what the task is.");
}

}  // namespace kw::compose
