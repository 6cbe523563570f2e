// The pool's memory on macOS: private memory, since its shared memory has no name by which recovery could find it.
#include <sys/mman.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>

#include "base/system/futex.hpp"
#include "record/pool/collector_sleep.hpp"
#include "record/pool/pool.hpp"
#include "record/pool/spool_sweep.hpp"

namespace kymo::record {

std::unique_ptr<Pool> Pool::create(const PoolOptions& options) {
  const Layout layout = plan(options.bytes, options.is_on_demand);
  std::unique_ptr<Pool> pool(new Pool(options));
  const std::uint64_t before = layout.bytes_before();
  void* const mapping =
      ::mmap(nullptr, before + layout.total_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
  if (mapping == MAP_FAILED) {
    const int error = errno;
    throw std::runtime_error(
        base::describe_errno("cannot map the pool", std::to_string(layout.total_bytes) + " bytes", error));
  }
  pool->states_ = mapping;
  pool->states_bytes_ = before;
  pool->mapping_ = static_cast<std::byte*>(mapping) + before;
  pool->mapped_bytes_ = layout.total_bytes;
  std::uint64_t id[2];
  ::arc4random_buf(static_cast<void*>(id), sizeof id);
  pool->lay_out(layout, id);
  return pool;
}

bool Pool::reserve(std::uint64_t offset, std::uint64_t bytes) noexcept {
  // Touches the pages, so that recording threads do not fault.
  constexpr std::uint64_t least_page_bytes = 4096;
  for (std::uint64_t at = offset; at < offset + bytes; at += least_page_bytes) {
    __atomic_fetch_or(static_cast<char*>(mapping_) + at, char{0}, __ATOMIC_RELAXED);
  }
  return true;
}

Pool::~Pool() {
  if (mapping_ != nullptr) {
    ::munmap(mapping_, mapped_bytes_);
    ::munmap(states_, states_bytes_);
  }
}

void Pool::wake_collector() noexcept {
  wake_sleeper(header_->wake, header_->is_asleep, [](std::atomic<std::uint32_t>& wake) { base::futex_wake_all(wake); });
}

void Pool::remove_spool() noexcept {}

void Pool::abandon_in_child() noexcept {
  static_cast<void>(::mmap(mapping_, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_FIXED, -1, 0));
}

// macOS has no spools.
bool SpoolSweep::step(std::int64_t /*most_ns*/) noexcept {
  return true;
}

}  // namespace kymo::record
