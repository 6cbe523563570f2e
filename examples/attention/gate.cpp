#include "gate.hpp"

#include <algorithm>

#include "min_cut.hpp"

namespace attention {
namespace {

/// Weights are integers in units of 2^-20. Logits above 512 count as 512.
constexpr float unit = 1048576.0F;

std::int32_t capacity_of(float weight) {
  return static_cast<std::int32_t>(std::min(weight, 512.0F) * unit);
}

}  // namespace

Gate::Gate(std::size_t tokens, const GateOptions& options)
    : tokens_(tokens), options_(options), state_(tokens * tokens, 1), votes_(tokens * tokens, 0) {}

std::vector<std::uint8_t> Gate::wanted(const Matrix& logits, Decision& decision) const {
  FlowGraph graph(tokens_);
  double sum = 0;
  std::size_t edges = 0;
  for (std::size_t query = 0; query < tokens_; ++query) {
    for (std::size_t key = 0; key < tokens_; ++key) {
      const float weight = logits[query * tokens_ + key];
      if (weight > options_.eps) {
        graph.set_capacity(query, key, capacity_of(weight));
        sum += static_cast<double>(weight);
        ++edges;
      }
    }
  }
  std::vector<std::uint8_t> wanted(logits.size(), 1);
  if (edges == 0 || tokens_ < 2) {
    return wanted;
  }
  decision.cut_cost = static_cast<double>(graph.send(0, tokens_ - 1)) / static_cast<double>(unit);
  const double threshold = static_cast<double>(options_.lambda) * sum / static_cast<double>(edges);
  for (std::size_t query = 0; query < tokens_; ++query) {
    for (std::size_t key = 0; key < tokens_ && graph.is_on_source_side(query); ++key) {
      const float weight = logits[query * tokens_ + key];
      const bool is_severed = weight > options_.eps && !graph.is_on_source_side(key);
      if (is_severed && static_cast<double>(weight) < threshold) {
        wanted[query * tokens_ + key] = 0;
      }
    }
  }
  return wanted;
}

void Gate::flip(const std::vector<std::uint8_t>& wanted) {
  for (std::size_t i = 0; i < state_.size(); ++i) {
    votes_[i] = wanted[i] == state_[i] ? 0 : votes_[i] + 1;
    if (votes_[i] > 0 && votes_[i] >= options_.tau) {
      state_[i] = wanted[i];
      votes_[i] = 0;
    }
  }
}

void keep_largest_in_empty_rows(const Matrix& logits, std::size_t tokens, std::vector<std::uint8_t>& kept) {
  const auto width = static_cast<std::ptrdiff_t>(tokens);
  auto row = logits.begin();
  for (auto first = kept.begin(); first != kept.end(); first += width, row += width) {
    if (std::find(first, first + width, 1) == first + width) {
      first[std::max_element(row, row + width) - row] = 1;
    }
  }
}

Decision Gate::decide(const Matrix& logits) {
  Decision decision;
  flip(wanted(logits, decision));
  kept_ = state_;
  keep_largest_in_empty_rows(logits, tokens_, kept_);
  decision.kept_keys.assign(tokens_, false);
  for (std::size_t query = 0; query < tokens_; ++query) {
    for (std::size_t key = 0; key < tokens_; ++key) {
      if (kept_[query * tokens_ + key] != 0) {
        decision.kept_keys[key] = true;
      } else {
        ++decision.dropped;
      }
    }
  }
  return decision;
}

}  // namespace attention
