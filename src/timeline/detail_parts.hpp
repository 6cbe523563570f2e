// What the makers of a Detail share.
#pragma once

#include <cstdint>

#include "capture/coverage.hpp"
#include "timeline/detail.hpp"

namespace kymo::timeline {

/// How long after the earlier time the later one is; 0 where it is not, the greatest number where it does not fit.
[[nodiscard]] std::int64_t subtract_times(std::int64_t later_ns, std::int64_t earlier_ns);

/// Messages, flows and sync points.
void take_marks(const EventBatch& batch, Detail& out);

/// Adds what follows to a group.
void join(SampleGroup& group, const SampleGroup& later);

/// Appends the bins of a coverage at all levels; sort_rows() brings rows in order when all are there.
void put_rows(const capture::Coverage& coverage, Detail& out);
void sort_rows(Detail& out);

/// Sets Detail::bytes.
void count_bytes(Detail& out);

}  // namespace kymo::timeline
