// Builds the boxes of a row of the flame chart.
#pragma once

#include <cstdint>
#include <vector>

#include "capture/summary/site_vote.hpp"
#include "panel/layout/flame_layout.hpp"

namespace kymo::panel {

/// Builds the boxes of one row, from left to right. The last one has its name when this is gone.
class RowBuilder {
 public:
  /// `least_pixels`: what is narrower is joined.
  RowBuilder(const TimeAxis& axis, double least_pixels, FlameRow& row);
  RowBuilder(const RowBuilder&) = delete;
  RowBuilder& operator=(const RowBuilder&) = delete;
  ~RowBuilder() { name_last(); }

  void take(const std::vector<timeline::DetailSpan>& spans);
  /// `from`: the pixel before which nothing is taken.
  void take(const timeline::DetailBins& level, const timeline::DetailRow& row, double from = -1e9);
  /// Takes a piece with more spans than pixels. Bins begin where the piece does: the span that was open there began in
  /// an earlier one, perhaps long before, and is shown by itself.
  void take_crowded(const timeline::DetailBins& level, const timeline::DetailRow& row,
                    const timeline::DetailSpan& first, std::int64_t piece_start_ns);

 private:
  void put_one(const timeline::DetailSpan& span, double left, double right);
  void vote(const FlameBox& box);
  void name_last();
  [[nodiscard]] bool is_near(const FlameBox& box, const FlameBox& last) const;
  void put_narrow(FlameBox box);
  bool put_after_last(FlameBox box);

  const TimeAxis& axis_;
  double least_;
  FlameRow& row_;
  capture::SiteVote vote_;     // on the name of the last narrow box, once there are several names, except for
  std::uint64_t votes_ = 0;    // the last votes,
  std::uint32_t voted_ = 0;    // which are for this name
  bool is_contested_ = false;  // there are several
  std::int64_t start_ns_;
  std::int64_t end_ns_;
};

}  // namespace kymo::panel
