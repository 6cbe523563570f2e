// The pool's memory on macOS: private memory, since its shared memory has no name that recovery could find; and the
// words that threads wait on.
#include <sys/mman.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>

#include "record/collector_sleep.hpp"
#include "record/pool.hpp"

namespace kymo::record {

std::unique_ptr<Pool> Pool::create(const PoolOptions& options) {
  const Layout layout = plan(options.bytes, options.is_on_demand);
  std::unique_ptr<Pool> pool(new Pool(options));
  void* const mapping = ::mmap(nullptr, layout.total_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
  if (mapping == MAP_FAILED) {
    const int error = errno;
    throw std::runtime_error(
        base::describe_errno("cannot map the pool", std::to_string(layout.total_bytes) + " bytes", error));
  }
  pool->mapping_ = mapping;
  pool->mapped_bytes_ = layout.total_bytes;
  std::uint64_t id[2];
  ::arc4random_buf(static_cast<void*>(id), sizeof id);
  pool->lay_out(layout, id);
  return pool;
}

bool Pool::reserve(std::uint64_t offset, std::uint64_t bytes) noexcept {
  // Touched, so that recording threads do not fault.
  constexpr std::uint64_t least_page_bytes = 4096;
  for (std::uint64_t at = offset; at < offset + bytes; at += least_page_bytes) {
    __atomic_fetch_or(static_cast<char*>(mapping_) + at, char{0}, __ATOMIC_RELAXED);
  }
  return true;
}

Pool::~Pool() {
  if (mapping_ != nullptr) {
    ::munmap(mapping_, mapped_bytes_);
  }
}

void Pool::wake_collector() noexcept {
  wake_sleeper(header_->wake, header_->is_asleep, [](std::atomic<std::uint32_t>& wake) { futex_wake_all(wake); });
}

void Pool::remove_spool() noexcept {}

void Pool::abandon_in_child() noexcept {
  static_cast<void>(::mmap(mapping_, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_FIXED, -1, 0));
}

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t timeout_ns) noexcept {
  if (timeout_ns <= 0) {
    return;
  }
  // A timeout of zero would be none; the longest that fits is over an hour, and waits that end early are tried again.
  const auto timeout_us = static_cast<std::uint32_t>(std::clamp<std::int64_t>(timeout_ns / 1000, 1, UINT32_MAX));
  ::__ulock_wait(ulock_compare_and_wait | ulock_no_errno, &word, expected, timeout_us);
}

void futex_wake_all(std::atomic<std::uint32_t>& word) noexcept {
  ::__ulock_wake(ulock_compare_and_wait | ulock_wake_all | ulock_no_errno, &word, 0);
}

}  // namespace kymo::record
