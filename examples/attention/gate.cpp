#include "gate.hpp"

#include <algorithm>

#include "min_cut.hpp"

namespace attention {
namespace {

/// Weights are integers in units of 2^-20, so that the flow has the same value on every machine. Logits above 512 count
/// as 512.
constexpr float unit = 1048576.0F;

std::int32_t capacity_of(float weight) {
  return static_cast<std::int32_t>(std::min(weight, 512.0F) * unit);
}

}  // namespace

Cut cut_logits(const Matrix& logits, std::size_t tokens, const GateOptions& options) {
  Cut cut{Mask(logits.size(), 0), 0};
  if (tokens < 2) {
    return cut;
  }
  FlowGraph graph(tokens);
  double sum = 0;
  std::size_t edges = 0;
  for (std::size_t query = 0; query < tokens; ++query) {
    for (std::size_t key = 0; key < tokens; ++key) {
      const float weight = logits[query * tokens + key];
      if (weight > options.eps) {
        cut.mask[query * tokens + key] = 1;
        graph.set_capacity(query, key, capacity_of(weight));
        sum += static_cast<double>(weight);
        ++edges;
      }
    }
  }
  const double cost = static_cast<double>(graph.send(0, tokens - 1)) / static_cast<double>(unit);
  if (edges == 0 || cost > static_cast<double>(options.lambda) * sum / static_cast<double>(edges)) {
    return cut;
  }
  cut.cost = cost;
  for (std::size_t query = 0; query < tokens; ++query) {
    for (std::size_t key = 0; key < tokens && graph.is_on_source_side(query); ++key) {
      if (!graph.is_on_source_side(key)) {
        cut.mask[query * tokens + key] = 0;
      }
    }
  }
  return cut;
}

const Mask& Hysteresis::apply(const Mask& mask) {
  if (state_.empty()) {
    state_ = mask;
    votes_.assign(mask.size(), 0);
    return state_;
  }
  for (std::size_t i = 0; i < state_.size(); ++i) {
    votes_[i] = mask[i] == state_[i] ? 0 : votes_[i] + 1;
    if (votes_[i] > 0 && votes_[i] >= tau_) {
      state_[i] = mask[i];
      votes_[i] = 0;
    }
  }
  return state_;
}

Decision Gate::decide(const Matrix& logits) {
  const Cut cut = cut_logits(logits, tokens_, options_);
  Decision decision;
  decision.kept = hysteresis_.apply(cut.mask);
  decision.cut_cost = cut.cost;
  decision.kept_keys.assign(tokens_, false);
  for (std::size_t query = 0; query < tokens_; ++query) {
    for (std::size_t key = 0; key < tokens_; ++key) {
      if (decision.kept[query * tokens_ + key] != 0) {
        decision.kept_keys[key] = true;
      } else {
        ++decision.dropped;
      }
    }
  }
  return decision;
}

}  // namespace attention
