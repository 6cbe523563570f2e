#include "threads/states/event_ring.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include "threads/states/kernel_records.hpp"

namespace kymo::threads {

EventRing::EventRing(EventRing&& other) noexcept {
  *this = std::move(other);
}

EventRing& EventRing::operator=(EventRing&& other) noexcept {
  if (this != &other) {
    unmap();
    event_ = std::move(other.event_);
    page_ = std::exchange(other.page_, nullptr);
    page_size_ = other.page_size_;
    ring_size_ = other.ring_size_;
    least_room_ = other.least_room_;
    joined_ = std::move(other.joined_);
  }
  return *this;
}

EventRing::~EventRing() {
  unmap();
}

void EventRing::unmap() noexcept {
  if (page_ != nullptr) {
    ::munmap(page_, page_size_ + ring_size_);
    page_ = nullptr;
  }
}

void EventRing::forget() noexcept {
  page_ = nullptr;
  event_.reset();
}

int EventRing::map(base::FileDescriptor event, std::size_t bytes, std::size_t largest) {
  unmap();
  event_ = base::KnownFile(std::move(event));
  page_size_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  ring_size_ = std::max(bytes, page_size_);
  least_room_ = largest;
  void* const memory = ::mmap(nullptr, page_size_ + ring_size_, PROT_READ | PROT_WRITE, MAP_SHARED, event_.number(), 0);
  if (memory == MAP_FAILED) {
    return errno;
  }
  page_ = static_cast<std::byte*>(memory);
  return 0;
}

std::span<const std::byte> EventRing::bytes_at(std::uint64_t position, std::size_t size) {
  const std::byte* const ring = page_ + page_size_;
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
  if (page_ == nullptr) {
    return true;
  }
  auto* const positions = reinterpret_cast<perf_event_mmap_page*>(page_);
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
