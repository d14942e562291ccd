#include "targets/cuda/worker_protocol.h"

#include "sandbox/sandbox.h"

namespace kw::cuda {
namespace {

constexpr std::size_t kMostInline = 48 * 1024;
constexpr std::uint64_t kMostText = std::uint64_t{64} << 20;
constexpr char kInFile = 'f', kInline = 'i';

}  // namespace

bool send_json(int socket, const Json& json, std::span<const int> files) {
  const std::string text = json.dump();
  if (text.size() <= kMostInline) {
    const std::string packet = kInline + text;
    return sandbox::send_packet(socket, std::as_bytes(std::span(packet)), files);
  }
  const auto file = sandbox::memory_file(text);
  if (!file.ok()) return false;
  std::vector<int> all(files.begin(), files.end());
  all.push_back(file->get());
  return sandbox::send_packet(socket, std::as_bytes(std::span(&kInFile, 1)), all);
}

std::optional<Message> receive_json(int socket) {
  sandbox::Packet packet = sandbox::receive_packet(socket);
  if (packet.bytes.empty()) return std::nullopt;
  std::string text(reinterpret_cast<const char*>(packet.bytes.data()) + 1, packet.bytes.size() - 1);
  if (static_cast<char>(packet.bytes[0]) == kInFile) {
    if (packet.descriptors.empty()) return std::nullopt;
    const auto content = sandbox::content_of(packet.descriptors.back(), kMostText);
    if (!content.ok()) return std::nullopt;
    text = *content;
    packet.descriptors.pop_back();
  }
  try {
    return Message{.json = Json::parse(text), .files = std::move(packet.descriptors)};
  } catch (const JsonError&) {
    return std::nullopt;
  }
}

}  // namespace kw::cuda
