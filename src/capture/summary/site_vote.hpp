// Which site names what stands for several scopes: a bin of an overview, or a box too narrow for each of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace kymo::capture {

/// A vote on the site that has most of a time: a summary of frequent items with three counters (Misra and Gries 1982).
/// Among the candidates is every site with more than a quarter of the weight.
class SiteVote {
 public:
  void add(std::uint32_t site, std::uint64_t weight_ns) {
    if (weight_ns == 0) {
      return;
    }
    for (std::size_t i = 0; i < sites_.size(); ++i) {
      if (sites_[i] == site && weights_ns_[i] != 0) {
        weights_ns_[i] += weight_ns;
        return;
      }
    }
    const std::uint64_t paid_ns = std::min({weight_ns, weights_ns_[0], weights_ns_[1], weights_ns_[2]});
    for (std::size_t i = 0; i < sites_.size(); ++i) {
      weights_ns_[i] -= paid_ns;
    }
    for (std::size_t i = 0; i < sites_.size(); ++i) {
      if (weights_ns_[i] == 0) {
        sites_[i] = site;
        weights_ns_[i] = weight_ns - paid_ns;
        return;
      }
    }
  }
  void add(const SiteVote& other) {
    for (std::size_t i = 0; i < sites_.size(); ++i) {
      add(other.sites_[i], other.weights_ns_[i]);
    }
  }
  [[nodiscard]] bool empty() const { return weights_ns_ == decltype(weights_ns_){}; }
  /// The site that leads; 0 if nobody voted.
  [[nodiscard]] std::uint32_t leader() const {
    const auto most = std::max_element(weights_ns_.begin(), weights_ns_.end());
    return *most == 0 ? 0 : sites_[static_cast<std::size_t>(most - weights_ns_.begin())];
  }

 private:
  std::array<std::uint64_t, 3> weights_ns_{};  // 0: free
  std::array<std::uint32_t, 3> sites_{};
};

}  // namespace kymo::capture
