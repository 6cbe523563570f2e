// Where the panel's data comes from: blocks of events and what is declared. A program's live window is one provider,
// captures are the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kymo/timeline.hpp>

#include "stats/site_figures.hpp"
#include "timeline/block_list.hpp"

namespace kymo::panel {

using timeline::CaptureBlocks;
using timeline::Detail;
using timeline::SummaryPlace;

/// What kymo itself cost and lost.
struct ProviderFacts {
  std::uint64_t dropped_scopes = 0;
  std::uint64_t dropped_others = 0;
  bool knows_drops = true;    ///< else both count from the blocks that were read
  double empty_scope_ns = 0;  ///< what recording a scope costs its thread, the most of several programs; 0: not known
  std::uint64_t collector_cpu_ns = 0;   ///< what the collector took in all; 0: not known
  std::uint64_t collector_wall_ns = 0;  ///< the time in which it did
};

/// Which span is meant.
struct SpanKey {
  TrackId track = 0;
  std::uint32_t name = 0;  ///< SiteId, or NameId of a named one
  std::uint16_t depth = 0;
  bool named = false;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;  ///< as far as it is known
};

/// Everything known of one span.
struct SpanFacts {
  SpanKey key;
  bool is_found = false;  ///< else it could not be read again, and nothing below is known
  Span span;
  std::vector<std::pair<std::string, std::string>> arguments;  ///< name and value as text
};

/// Hands out blocks of events.
///
/// One thread, that of the user interface, calls everything; read(), read_summary(), figures() and find_span() may be
/// called by one more at any time.
class BlockProvider {
 public:
  BlockProvider() = default;
  BlockProvider(const BlockProvider&) = delete;
  BlockProvider& operator=(const BlockProvider&) = delete;
  virtual ~BlockProvider() = default;

  /// Takes over what came since; whether blocks() or what is declared changed. Returns at once where that would have to
  /// wait.
  virtual bool refresh() = 0;
  /// The blocks as of the last refresh.
  [[nodiscard]] virtual const std::vector<CaptureBlocks>& blocks() const = 0;
  /// The number of a capture's first block in blocks(): those before it have been dropped.
  [[nodiscard]] virtual std::size_t first_block() const = 0;
  /// From the first event to the last one; start_ns == end_ns where there are none.
  [[nodiscard]] virtual TimeRange range() const = 0;
  /// Whether a program is recording into it now.
  [[nodiscard]] virtual bool is_live() const = 0;
  [[nodiscard]] virtual ProviderFacts facts() const = 0;

  [[nodiscard]] virtual const Declarations& declarations() const = 0;
  [[nodiscard]] virtual const SiteDeclaration& site(SiteId id) const = 0;
  [[nodiscard]] virtual const TrackDeclaration& track(TrackId id) const = 0;
  [[nodiscard]] virtual std::string_view name(NameId id) const = 0;

  /// At least these parts of a block, by its number; none where it is damaged or was dropped.
  [[nodiscard]] virtual std::shared_ptr<const EventBatch> read(std::size_t capture, std::size_t number,
                                                               BatchParts parts) const = 0;
  /// What a summary, by its place in CaptureBlocks::summaries, looks like; false where it is damaged.
  [[nodiscard]] virtual bool read_summary(std::size_t capture, std::size_t place, Detail& out) const = 0;
  /// Samples that are not in any block; none where there are none.
  [[nodiscard]] virtual std::shared_ptr<const Detail> records() const { return nullptr; }
  /// What the scopes of each site amount to, over everything there is.
  [[nodiscard]] virtual std::vector<stats::SiteFigures> figures() const = 0;
  /// Looks a span up again, with its arguments.
  [[nodiscard]] virtual SpanFacts find_span(const SpanKey& key) const = 0;
};

}  // namespace kymo::panel
