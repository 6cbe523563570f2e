// The ring of memory through which the kernel hands records to this process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/system/file.hpp"

namespace kymo::threads {

/// The ring of one perf event. Owns the event. One thread.
class EventRing {
 public:
  /// Maps the event's ring: a power of two of bytes, at least a page. Its records have at most `largest` bytes. Returns
  /// 0 or errno; EPERM if the user may not lock so much memory. The event belongs to the ring in any case.
  [[nodiscard]] int map(base::FileDescriptor event, std::size_t bytes, std::size_t largest);

  /// Passes each record written so far to `take`, as bytes that are valid during the call. Returns false if the ring
  /// may have been full meanwhile, or held bytes that are no record, and were dropped.
  [[nodiscard]] bool drain(const std::function<void(std::span<const std::byte>)>& take);

  [[nodiscard]] int descriptor() const { return event_.number(); }
  /// False once somebody else closed the descriptor.
  [[nodiscard]] bool is_open() const { return event_.get() >= 0; }
  /// In a forked child, where the memory is not mapped: closes the descriptor.
  void forget() noexcept;

 private:
  struct Unmap {
    void operator()(std::byte* memory) const noexcept;
    std::size_t size;
  };
  /// A record that lies across the ring's end is copied.
  std::span<const std::byte> bytes_at(std::uint64_t position, std::size_t size);

  base::KnownFile event_;
  std::unique_ptr<std::byte, Unmap> memory_;  // the kernel's page of positions; the ring follows
  std::size_t page_size_ = 0;
  std::size_t ring_size_ = 0;
  std::size_t least_room_ = 0;  // with less the kernel may have dropped a record
  std::vector<std::byte> joined_;
};

}  // namespace kymo::threads
