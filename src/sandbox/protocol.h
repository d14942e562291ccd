// What passes between the client and the warden: packets on a socket, with descriptors beside them.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"

namespace kw::sandbox {

inline constexpr std::size_t kMostDescriptors = 16;
inline constexpr std::size_t kMostPacketBytes = 64 * 1024;

using kw::Descriptor;

// Limits of one sandbox; all of them hold for the sum or for each process as the system counts.
struct Limits {
  std::uint64_t memory_bytes = std::uint64_t{2} << 30;  // of each process
  std::uint64_t disk_bytes = std::uint64_t{256} << 20;  // of what it writes to its folder
  std::uint32_t processes = 1;                          // threads count
  std::uint32_t cpu_seconds = 60;
};

// A request to start a sandbox; the role's arguments follow it in the packet. The first descriptor is where the report
// goes, the rest are the role's.
struct StartRequest {
  char role[16] = {};
  Limits limits;
};

struct StartReport {
  std::int32_t pid = 0;    // as the client sees it; 0: could not be started
  std::int32_t error = 0;  // errno
};

struct EndReport {
  std::int32_t status = 0;  // of waitpid
  std::uint64_t cpu_ns = 0;
  std::uint64_t most_memory_bytes = 0;
};

// False when the other side is gone.
bool send_packet(int socket, std::span<const std::byte> bytes, std::span<const int> descriptors);

struct Packet {
  std::vector<std::byte> bytes;
  std::vector<Descriptor> descriptors;
};
// Empty bytes: the other side is gone.
Packet receive_packet(int socket);

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span<const T>(&value, 1));
}

template <class T>
bool read_as(const Packet& packet, T& value) {
  if (packet.bytes.size() < sizeof value) return false;
  std::memcpy(&value, packet.bytes.data(), sizeof value);
  return true;
}

}  // namespace kw::sandbox
