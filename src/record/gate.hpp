// One word that says what follows from several that any thread may change. A template over the atomics, so that a test
// can run it under every interleaving that the memory model permits.
#pragma once

#include <atomic>
#include <cstdint>

namespace kymo::record {

/// Called after each change of what `wanted()` reads; changes and reads are sequentially consistent. After the last of
/// several calls, side by side or not, the gate is what is wanted: who was overtaken between reading and storing sees
/// it.
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
