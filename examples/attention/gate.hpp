// The gate of the crate ruvector-attn-mincut: selects the logits for attention by the minimum cut of the graph that
// they form. Written from the crate's documentation and from what it returns, and tested against that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "workload.hpp"

namespace attention {

/// One byte per logit, 1 if it is kept.
using Mask = std::vector<std::uint8_t>;

struct GateOptions {
  float lambda = 0.5F;
  unsigned tau = 0;
  float eps = 0.01F;
};

struct Cut {
  Mask mask;
  double cost = 0;  ///< of the cut, if it was made
};

/// Logits above eps are the edges of a directed graph from query to key, with the logit as weight; all others are
/// dropped. If the minimum cut between the first and the last token costs at most lambda times the mean weight, the
/// edges that it severs are dropped as well. One token keeps nothing.
[[nodiscard]] Cut cut_logits(const Matrix& logits, std::size_t tokens, const GateOptions& options);

/// Keeps a mask from changing back and forth: the first one is taken as it is. After that, a gate flips with the
/// tau-th mask in a row that disagrees with it (0 and 1: at once).
class Hysteresis {
 public:
  explicit Hysteresis(unsigned tau) : tau_(tau) {}

  const Mask& apply(const Mask& mask);

 private:
  unsigned tau_;
  Mask state_;
  std::vector<std::uint32_t> votes_;  ///< number of masks in a row that disagree
};

struct Decision {
  Mask kept;
  std::vector<bool> kept_keys;  ///< keys that at least one query keeps; the others need no place in the cache
  double cut_cost = 0;
  std::size_t dropped = 0;  ///< number of logits
};

/// The gates of one sample, decided again at each step.
class Gate {
 public:
  Gate(std::size_t tokens, const GateOptions& options) : tokens_(tokens), options_(options), hysteresis_(options.tau) {}

  Decision decide(const Matrix& logits);

 private:
  std::size_t tokens_;
  GateOptions options_;
  Hysteresis hysteresis_;
};

}  // namespace attention
