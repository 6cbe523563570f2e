#include "threads/states/event_ring.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include "threads/states/kernel_records.hpp"

namespace kymo::threads {

void EventRing::Unmap::operator()(std::byte* memory) const noexcept {
  ::munmap(memory, size);
}

void EventRing::forget() noexcept {
  static_cast<void>(memory_.release());
  event_.reset();
}

int EventRing::map(base::FileDescriptor event, std::size_t bytes, std::size_t largest) {
  memory_.reset();
  event_ = base::KnownFile(std::move(event));
  page_size_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  ring_size_ = std::max(bytes, page_size_);
  least_room_ = largest;
  void* const memory = ::mmap(nullptr, page_size_ + ring_size_, PROT_READ | PROT_WRITE, MAP_SHARED, event_.number(), 0);
  if (memory == MAP_FAILED) {
    return errno;
  }
  memory_ = {static_cast<std::byte*>(memory), Unmap{page_size_ + ring_size_}};
  return 0;
}

std::span<const std::byte> EventRing::bytes_at(std::uint64_t position, std::size_t size) {
  const std::byte* const ring = memory_.get() + page_size_;
  const auto offset = static_cast<std::size_t>(position % ring_size_);
  const std::size_t before_end = ring_size_ - offset;
  if (size <= before_end) {
    return {ring + offset, size};
  }
  joined_.resize(size);
  std::memcpy(joined_.data(), ring + offset, before_end);
  std::memcpy(joined_.data() + before_end, ring, size - before_end);
  return joined_;
}

bool EventRing::drain(const std::function<void(std::span<const std::byte>)>& take) {
  if (memory_ == nullptr) {
    return true;
  }
  auto* const positions = reinterpret_cast<perf_event_mmap_page*>(memory_.get());
  const auto load_head = [positions] { return __atomic_load_n(&positions->data_head, __ATOMIC_ACQUIRE); };
  const std::uint64_t begin = positions->data_tail;
  const std::uint64_t head = load_head();
  bool is_whole = head - begin <= ring_size_;
  std::uint64_t at = is_whole ? begin : head;
  while (at < head) {
    const std::uint64_t left = head - at;
    const auto header_size = static_cast<std::size_t>(std::min<std::uint64_t>(left, sizeof(perf_event_header)));
    perf_event_header header{};
    std::memcpy(&header, bytes_at(at, header_size).data(), header_size);
    if (header_size < sizeof header || header.size < sizeof header || header.size > left) {
      is_whole = false;
      break;
    }
    const std::span<const std::byte> record = bytes_at(at, header.size);
    take(record);
    at += record_size(record);
  }
  // What came during the reading may have met a full ring.
  const std::uint64_t filled = load_head() - begin;
  __atomic_store_n(&positions->data_tail, head, __ATOMIC_RELEASE);
  return is_whole && filled + least_room_ <= ring_size_;
}

}  // namespace kymo::threads
