// The pool's memory in a WebAssembly program: private, gone with the page. Waking the collector means calling it.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <stdexcept>

#include "record/pool/collector_pump.hpp"
#include "record/pool/pool.hpp"

namespace kymo::record {

namespace {

/// A program has at most 4 GiB, and a page gets less.
constexpr std::uint64_t largest_private_bytes = std::uint64_t{256} << 20U;

}  // namespace

std::unique_ptr<Pool> Pool::create(const PoolOptions& options) {
  const Layout layout = plan(std::min(options.bytes, largest_private_bytes), false);
  std::unique_ptr<Pool> pool(new Pool(options));
  const std::uint64_t before = layout.bytes_before();
  pool->states_ = std::aligned_alloc(alignof(TrackSlot), static_cast<std::size_t>(before + layout.total_bytes));
  if (pool->states_ == nullptr) {
    throw std::runtime_error("there is no memory for a pool of " + std::to_string(layout.total_bytes) +
                             " bytes: link the program with -sALLOW_MEMORY_GROWTH, or give it more INITIAL_MEMORY");
  }
  pool->mapping_ = static_cast<std::byte*>(pool->states_) + before;
  pool->mapped_bytes_ = layout.total_bytes;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const std::uint64_t id[2] = {static_cast<std::uint64_t>(now.tv_sec), static_cast<std::uint64_t>(now.tv_nsec)};
  pool->lay_out(layout, id);
  return pool;
}

Pool::~Pool() {
  std::free(states_);
}

bool Pool::reserve(std::uint64_t offset, std::uint64_t bytes) noexcept {
  std::memset(static_cast<std::byte*>(mapping_) + offset, 0, static_cast<std::size_t>(bytes));
  return true;
}

void Pool::wake_collector() noexcept {
  pump_collector();
}

void Pool::remove_spool() noexcept {}

void Pool::abandon_in_child() noexcept {}

}  // namespace kymo::record
