// One word derived from several that any thread may change. A template over the atomics, so that a test can run it
// under every interleaving that the memory model permits.
#pragma once

#include <atomic>
#include <cstdint>

namespace kymo::record {

/// Called after each change of a value that `wanted()` reads. Changes and reads are sequentially consistent. After the
/// last of several calls, concurrent or not, the gate has the wanted value. A caller overtaken between its read and its
/// store notices, because it reads again.
template <typename Gate, typename Wanted>
void update_gate_to(Gate& gate, const Wanted& wanted) noexcept {
  std::uint32_t stored = wanted();
  for (;;) {
    gate.store(stored, std::memory_order_seq_cst);
    const std::uint32_t now = wanted();
    if (now == stored) {
      return;
    }
    stored = now;
  }
}

}  // namespace kymo::record
