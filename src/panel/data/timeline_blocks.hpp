// Captures as the panel's data.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "panel/data/block_provider.hpp"

namespace kymo::panel {

/// The blocks of a timeline, which it owns, and which it follows while captures grow.
class TimelineBlocks final : public BlockProvider {
 public:
  /// Whether more data comes for a capture without an end.
  using LookForMore = std::function<Arrival(const CaptureReader&)>;

  /// By default, looks for the process that writes a capture.
  explicit TimelineBlocks(Timeline timeline, LookForMore look_for_more = look_for_process);

  /// A capture whose process cannot be seen counts as recording.
  [[nodiscard]] static Arrival look_for_process(const CaptureReader& capture);

  /// Checks for appended data at most fifty times a second, and once a second whether more comes.
  bool refresh() override;
  [[nodiscard]] const std::vector<CaptureBlocks>& blocks() const override { return blocks_; }
  [[nodiscard]] std::size_t capture_of(FrameStreamId stream) const override;
  [[nodiscard]] std::size_t first_block() const override { return 0; }
  [[nodiscard]] TimeRange range() const override { return range_; }
  [[nodiscard]] Arrival arrival() const override { return arrival_; }
  [[nodiscard]] ProviderFacts facts() const override { return facts_; }
  [[nodiscard]] const Declarations& declarations() const override { return timeline_.declarations(); }
  [[nodiscard]] const SiteDeclaration& site(SiteId id) const override { return timeline_.site(id); }
  [[nodiscard]] const TrackDeclaration& track(TrackId id) const override { return timeline_.track(id); }
  [[nodiscard]] std::string_view name(NameId id) const override { return timeline_.name(id); }
  [[nodiscard]] std::shared_ptr<const EventBatch> read(std::size_t capture, std::size_t number,
                                                       BatchParts parts) const override;
  [[nodiscard]] bool read_summary(std::size_t capture, std::size_t place, Detail& out) const override;
  [[nodiscard]] std::vector<stats::SiteFigures> figures() const override;
  [[nodiscard]] std::optional<std::vector<Explanation>> explain(const ExplainOptions& options) const override;
  [[nodiscard]] std::optional<EnergyExplanation> explain_energy(const ExplainOptions& options) const override;
  [[nodiscard]] std::optional<RunExplanation> explain_run(
      const std::function<void(double)>& on_progress) const override;
  [[nodiscard]] SpanFacts find_span(const SpanKey& key) const override;

  /// For the thread that calls refresh().
  [[nodiscard]] const Timeline& timeline() const { return timeline_; }

 private:
  void take_over();
  /// The state of the capture from which most is to be expected.
  [[nodiscard]] Arrival find_arrival() const;

  Timeline timeline_;
  mutable std::shared_mutex
      mutex_;  // protects timeline and blocks_ where refresh() changes what the other thread reads
  std::vector<CaptureBlocks> blocks_;
  TimeRange range_;
  LookForMore look_for_more_;
  Arrival arrival_ = Arrival::complete;
  std::int64_t last_look_ns_ = 0;
  ProviderFacts facts_;
  std::int64_t last_refresh_ns_ = 0;
};

/// Picks the facts of the span out of its track's spans around its start. For providers.
[[nodiscard]] SpanFacts pick_span(const SpanKey& key, const SpanList& spans, const BlockProvider& names);

/// A value as text: "42", "0.5", "true", "\"text\"".
[[nodiscard]] std::string text_of_argument(const ArgumentValue& value, std::string_view text);

}  // namespace kymo::panel
