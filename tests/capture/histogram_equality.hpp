// Equality of histograms.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "capture/summary/histogram.hpp"

namespace kymo::capture {

/// Equal counts, extremes and sum.
inline bool operator==(const Histogram& a, const Histogram& b) {
  const auto counts_of = [](const Histogram& histogram) {
    std::vector<std::pair<std::int64_t, std::uint64_t>> counts;
    histogram.for_each_bucket(
        [&](const Histogram::Bucket& bucket) { counts.emplace_back(bucket.lowest_ns, bucket.count); });
    return counts;
  };
  return a.count() == b.count() && a.total_ns() == b.total_ns() && a.min_ns() == b.min_ns() &&
         a.max_ns() == b.max_ns() && counts_of(a) == counts_of(b);
}

}  // namespace kymo::capture
