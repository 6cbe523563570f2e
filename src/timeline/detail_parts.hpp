// Shared parts of the functions that make a Detail.
#pragma once

#include <array>
#include <cstdint>

#include "capture/summary/coverage.hpp"
#include "timeline/detail.hpp"

namespace kymo::timeline {

/// later - earlier; 0 if negative, the largest number if it does not fit.
[[nodiscard]] std::int64_t subtract_times(std::int64_t later_ns, std::int64_t earlier_ns);

/// Messages, flows and sync points.
void take_marks(const EventBatch& batch, Detail& out);

/// Adds a following group to a group.
void join(SampleGroup& group, const SampleGroup& later);

/// Appends the bins of a coverage at all levels; sort_rows() sorts the rows when all are added.
void put_rows(const capture::Coverage& coverage, std::array<DetailBins, Detail::levels>& out);
void sort_rows(std::array<DetailBins, Detail::levels>& all);

/// Run states. `with_states`: each one, too.
void take_states(const EventBatch& batch, bool with_states, Detail& out);

/// Sets Detail::bytes.
void count_bytes(Detail& out);

}  // namespace kymo::timeline
