// Provides the running program's data to the panel: the latest batches from the collector, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include <kymo/panel.hpp>
#include <kymo/sink.hpp>

#include "panel/data/block_provider.hpp"
#include "panel/data/declaration_table.hpp"

namespace kymo::panel {

/// Limits of the history. While any of them is exceeded, the oldest batch is dropped.
struct HistoryBounds {
  std::size_t frames = 1200;  ///< marks of the frame stream declared first
  std::size_t bytes = std::size_t{256} << 20U;
  std::size_t batches = 8192;
};

/// A window on the latest batches. The collector's thread writes, at the price of a copy; one other thread reads.
class LiveWindow final : public Sink {
 public:
  /// The data received so far.
  struct Contents {
    std::size_t first_number = 0;  ///< of the oldest kept batch; batches count from 0
    std::vector<std::shared_ptr<const EventBatch>> batches;
    Declarations declared;  ///< since the last call
    std::uint64_t dropped_scopes = 0;
    std::uint64_t dropped_others = 0;
    std::uint64_t collector_cpu_ns = 0;   ///< of the collector's thread since the first batch
    std::uint64_t collector_wall_ns = 0;  ///< wall time since then
  };

  explicit LiveWindow(const HistoryBounds& bounds) : bounds_(bounds) {}

  void write(const EventBatch& batch) override;

  /// Takes the data. Returns false if nothing arrived since the last call.
  [[nodiscard]] bool take(Contents& contents);
  /// Approximate size of the window in bytes.
  [[nodiscard]] std::size_t bytes() const;

 private:
  struct Kept {
    std::shared_ptr<const EventBatch> batch;
    std::size_t bytes = 0;
    std::size_t frames = 0;
  };

  void trim();

  HistoryBounds bounds_;
  mutable std::mutex mutex_;
  std::deque<Kept> kept_;
  std::size_t first_number_ = 0;
  std::size_t bytes_ = 0;
  std::size_t frames_ = 0;
  FrameStreamId stream_;
  Declarations declared_;
  std::vector<std::pair<TrackId, std::pair<std::uint64_t, std::uint64_t>>> dropped_;  // by track
  std::uint64_t first_cpu_ns_ = 0;                                                    // of the collector's thread
  std::uint64_t last_cpu_ns_ = 0;
  std::uint64_t first_wall_ns_ = 0;
  std::uint64_t last_wall_ns_ = 0;
  bool has_news_ = false;
};

/// The content of a LiveWindow at the last refresh.
class LiveBlocks final : public BlockProvider {
 public:
  /// empty_scope_ns: the cost of recording a scope here; 0: unknown.
  explicit LiveBlocks(std::shared_ptr<LiveWindow> window, double empty_scope_ns = 0);

  /// Sets metrics that the program keeps itself and their samples so far, replacing earlier ones. Shown from the next
  /// refresh on. The last value of each column belongs to the last tick, the one before to the previous tick. Values
  /// without a tick are left out.
  void set_columns(const std::vector<MetricColumn>& columns, const std::deque<std::int64_t>& ticks_ns);
  [[nodiscard]] std::shared_ptr<const Detail> records() const override { return records_; }

  bool refresh() override;
  [[nodiscard]] const std::vector<CaptureBlocks>& blocks() const override { return blocks_; }
  [[nodiscard]] std::size_t capture_of(FrameStreamId) const override { return 0; }
  [[nodiscard]] std::size_t first_block() const override { return contents_.first_number; }
  [[nodiscard]] TimeRange range() const override;
  [[nodiscard]] Arrival arrival() const override { return Arrival::recording; }
  [[nodiscard]] ProviderFacts facts() const override;
  [[nodiscard]] const Declarations& declarations() const override { return declared_.all(); }
  [[nodiscard]] const SiteDeclaration& site(SiteId id) const override { return declared_.site(id); }
  [[nodiscard]] const TrackDeclaration& track(TrackId id) const override { return declared_.track(id); }
  [[nodiscard]] std::string_view name(NameId id) const override { return declared_.name(id); }
  [[nodiscard]] std::shared_ptr<const EventBatch> read(std::size_t capture, std::size_t number,
                                                       BatchParts parts) const override;
  [[nodiscard]] bool read_summary(std::size_t, std::size_t, Detail&) const override { return false; }
  [[nodiscard]] std::vector<stats::SiteFigures> figures() const override;
  [[nodiscard]] SpanFacts find_span(const SpanKey& key) const override;

 private:
  std::shared_ptr<LiveWindow> window_;
  double empty_scope_ns_;
  Declarations new_columns_declared_;
  std::shared_ptr<const Detail> new_records_;
  std::shared_ptr<const Detail> records_;
  mutable std::mutex mutex_;  // protects the members below that the other thread reads
  LiveWindow::Contents contents_;
  DeclarationTable declared_;
  std::vector<CaptureBlocks> blocks_;
};

}  // namespace kymo::panel
