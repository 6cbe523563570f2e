// Shared parts of the functions that make a Detail.
#pragma once

#include <array>

#include "capture/summary/coverage.hpp"
#include "timeline/detail.hpp"

namespace kymo::timeline {

/// Appends the bins of a coverage at all levels; sort_rows() sorts the rows when all are added.
void put_rows(const capture::Coverage& coverage, std::array<DetailBins, Detail::levels>& out);
void sort_rows(std::array<DetailBins, Detail::levels>& all);

/// Sets Detail::bytes.
void count_bytes(Detail& out);

}  // namespace kymo::timeline
