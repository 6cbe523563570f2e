// The gate: selects the logits for attention by the minimum cut of the graph that they form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "workload.hpp"

namespace attention {

struct GateOptions {
  float lambda = 0.5F;
  unsigned tau = 0;
  float eps = 0.01F;
};

struct Decision {
  std::vector<bool> kept_keys;  ///< keys that at least one query keeps; the others need no place in the cache
  double cut_cost = 0;
  std::size_t dropped = 0;  ///< number of logits
};

/// Keeps the largest logit of each row that has none left, because softmax needs one. One byte per logit, 1 if it is
/// kept.
void keep_largest_in_empty_rows(const Matrix& logits, std::size_t tokens, std::vector<std::uint8_t>& kept);

/// The gates of one sample, decided again at each step.
///
/// Logits above eps are the edges of a directed graph from query to key, with the logit as weight. The minimum cut
/// between the first and the last token severs some of them. Severed edges that weigh less than lambda times the mean
/// weight are to be dropped. A gate flips only after tau consecutive decisions for it (0 and 1: at once).
class Gate {
 public:
  Gate(std::size_t tokens, const GateOptions& options);

  Decision decide(const Matrix& logits);

  /// One byte per logit, 1 if it is kept. Each row keeps at least its largest logit.
  [[nodiscard]] const std::vector<std::uint8_t>& kept() const { return kept_; }

 private:
  [[nodiscard]] std::vector<std::uint8_t> wanted(const Matrix& logits, Decision& decision) const;
  void flip(const std::vector<std::uint8_t>& wanted);

  std::size_t tokens_;
  GateOptions options_;
  std::vector<std::uint8_t> state_;   ///< of the gates, before keep_largest_in_empty_rows()
  std::vector<std::uint32_t> votes_;  ///< number of consecutive decisions for the other state
  std::vector<std::uint8_t> kept_;
};

}  // namespace attention
