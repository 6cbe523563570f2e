#include "min_cut.hpp"

#include <algorithm>

namespace attention {

bool FlowGraph::find_levels(std::size_t source, std::size_t sink) {
  level_.assign(nodes_, unreached);
  level_[source] = 0;
  std::vector<std::size_t> queue{source};
  for (std::size_t at = 0; at < queue.size(); ++at) {
    const std::size_t node = queue[at];
    for (std::size_t other = 0; other < nodes_; ++other) {
      if (residual_[node * nodes_ + other] > 0 && level_[other] == unreached) {
        level_[other] = level_[node] + 1;
        queue.push_back(other);
      }
    }
  }
  return level_[sink] != unreached;
}

std::int32_t FlowGraph::push(std::size_t node, std::size_t sink, std::int32_t at_most) {
  if (node == sink) {
    return at_most;
  }
  std::int32_t sent = 0;
  for (std::size_t& other = next_[node]; other < nodes_; ++other) {
    std::int32_t& edge = residual_[node * nodes_ + other];
    if (edge <= 0 || level_[other] != level_[node] + 1) {
      continue;
    }
    const std::int32_t more = push(other, sink, std::min(at_most - sent, edge));
    edge -= more;
    residual_[other * nodes_ + node] += more;
    sent += more;
    if (sent == at_most) {
      break;
    }
  }
  return sent;
}

std::int64_t FlowGraph::send(std::size_t source, std::size_t sink) {
  for (std::size_t node = 0; node < nodes_; ++node) {
    residual_[node * nodes_ + node] = 0;
  }
  std::int64_t flow = 0;
  while (find_levels(source, sink)) {
    next_.assign(nodes_, 0);
    // One edge of the source at a time, because their sum may exceed 32 bits.
    for (std::size_t& other = next_[source]; other < nodes_; ++other) {
      std::int32_t& edge = residual_[source * nodes_ + other];
      if (edge > 0 && level_[other] == 1) {
        const std::int32_t sent = push(other, sink, edge);
        edge -= sent;
        residual_[other * nodes_ + source] += sent;
        flow += sent;
      }
    }
  }
  return flow;
}

}  // namespace attention
