// The kernel's records as bytes, written field by field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace kymo::test {

/// One record under construction.
class RecordBytes {
 public:
  RecordBytes(std::uint32_t type, std::uint16_t misc) {
    add(type);
    add(misc);
    add(std::uint16_t{0});  // the size, known at the end
  }

  template <typename Integer>
  RecordBytes& add(Integer value) {
    const auto* const first = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), first, first + sizeof value);
    return *this;
  }
  RecordBytes& text(const std::string& text) {
    for (const char character : text) {
      bytes_.push_back(static_cast<std::byte>(character));
    }
    bytes_.resize((bytes_.size() + 8) / 8 * 8);
    return *this;
  }
  /// Ends the record with the sample id.
  [[nodiscard]] std::vector<std::byte> by(std::uint32_t pid, std::uint32_t tid, std::uint64_t time_ns,
                                          std::uint32_t cpu) {
    add(pid).add(tid).add(time_ns).add(cpu).add(std::uint32_t{0});
    return finish();
  }
  /// Ends it as it is.
  [[nodiscard]] std::vector<std::byte> finish() {
    const auto size = static_cast<std::uint16_t>(bytes_.size());
    std::memcpy(bytes_.data() + 6, &size, sizeof size);
    return bytes_;
  }

 private:
  std::vector<std::byte> bytes_;
};

/// What begins a sample and ends all other records.
struct SampleId {
  std::uint32_t pid;
  std::uint32_t tid;
  std::uint64_t time_ns;
  std::uint32_t cpu;
};

/// Without a period: a switch.
inline std::vector<std::byte> sample_bytes(const SampleId& id, std::uint16_t misc,
                                           const std::vector<std::uint64_t>& chain, std::uint64_t period = 1'001'001) {
  RecordBytes record(9, misc);
  record.add(id.pid).add(id.tid).add(id.time_ns).add(id.cpu).add(std::uint32_t{0});
  if (period != 0) {
    record.add(period);
  }
  record.add(static_cast<std::uint64_t>(chain.size()));
  for (const std::uint64_t address : chain) {
    record.add(address);
  }
  return record.finish();
}

}  // namespace kymo::test
