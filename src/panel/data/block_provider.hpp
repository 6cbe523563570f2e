// The source of the panel's data: blocks of events and declarations. One provider is a program's live window, the other
// is captures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kymo/explain.hpp>
#include <kymo/explain_energy.hpp>
#include <kymo/explain_run.hpp>
#include <kymo/timeline.hpp>

#include "base/site_or_name.hpp"
#include "stats/statistics/site_figures.hpp"
#include "timeline/block_list.hpp"

namespace kymo::panel {

using timeline::CaptureBlocks;
using timeline::Detail;
using timeline::SummaryPlace;

/// Whether more data comes.
enum class Arrival : std::uint8_t {
  complete,     ///< the recording was ended
  recording,    ///< a program records
  cut_off,      ///< the program ended without ending the recording
  unreachable,  ///< the server of a recording does not answer
};

/// Kymo's own cost and losses.
struct ProviderFacts {
  std::uint64_t dropped_scopes = 0;
  std::uint64_t dropped_others = 0;
  bool knows_drops = true;        ///< else both cover only the blocks read so far
  std::uint64_t lost_stacks = 0;  ///< samples whose stacks were lost; known of closed captures
  double empty_scope_ns = 0;      ///< a thread's cost of recording a scope, the maximum of several programs; 0: unknown
  std::uint64_t collector_cpu_ns = 0;   ///< total CPU time of the collector; 0: unknown
  std::uint64_t collector_wall_ns = 0;  ///< the wall time in which it was used
};

/// Identifies a span.
struct SpanKey {
  TrackId track;
  base::SiteOrName what;
  std::uint16_t depth = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;  ///< if known
};

/// All facts about one span.
struct SpanFacts {
  SpanKey key;
  bool is_found = false;  ///< else it could not be read again, and everything below is unknown
  Span span;
  std::vector<SpanKey> around;  ///< of a scope: those that it lies in, the outermost first
  std::vector<std::pair<std::string, std::string>> arguments;  ///< names and values as text
};

/// Provides blocks of events.
///
/// All functions are for the user interface's thread. One more thread may call read(), read_summary(), figures() and
/// find_span() at any time.
class BlockProvider {
 public:
  BlockProvider() = default;
  BlockProvider(const BlockProvider&) = delete;
  BlockProvider& operator=(const BlockProvider&) = delete;
  virtual ~BlockProvider() = default;

  /// Takes new data. Returns whether blocks() or declarations changed. Returns at once if it would have to wait.
  virtual bool refresh() = 0;
  /// The blocks at the last refresh.
  [[nodiscard]] virtual const std::vector<CaptureBlocks>& blocks() const = 0;
  /// The capture of a frame stream; its number is not less than the number of captures if there is none.
  [[nodiscard]] virtual std::size_t capture_of(FrameStreamId stream) const = 0;
  /// The number of a capture's first block in blocks(). Earlier blocks were dropped.
  [[nodiscard]] virtual std::size_t first_block() const = 0;
  /// From the first event to the last one; start_ns == end_ns if there are none.
  [[nodiscard]] virtual TimeRange range() const = 0;
  [[nodiscard]] virtual Arrival arrival() const = 0;
  /// Whether a program is recording.
  [[nodiscard]] bool is_live() const { return arrival() == Arrival::recording; }
  [[nodiscard]] virtual ProviderFacts facts() const = 0;

  [[nodiscard]] virtual const Declarations& declarations() const = 0;
  [[nodiscard]] virtual const SiteDeclaration& site(SiteId id) const = 0;
  [[nodiscard]] virtual const TrackDeclaration& track(TrackId id) const = 0;
  [[nodiscard]] virtual std::string_view name(NameId id) const = 0;

  /// A block by number, with at least these parts; none if it is damaged or was dropped.
  [[nodiscard]] virtual std::shared_ptr<const EventBatch> read(std::size_t capture, std::size_t number,
                                                               BatchParts parts) const = 0;
  /// Reads the summary at a place in CaptureBlocks::summaries. Returns false if it is damaged.
  [[nodiscard]] virtual bool read_summary(std::size_t capture, std::size_t place, Detail& out) const = 0;
  /// Samples that are not in any block, if any.
  [[nodiscard]] virtual std::shared_ptr<const Detail> records() const { return nullptr; }
  /// The statistics of each site over all of the data.
  [[nodiscard]] virtual std::vector<stats::SiteFigures> figures() const = 0;
  /// Why some frames or scopes take longer than the others, as kymo::explain() says, and throws. A second further
  /// thread may call it; refresh() takes nothing new meanwhile. Nothing where there are no captures.
  [[nodiscard]] virtual std::optional<std::vector<Explanation>> explain(const ExplainOptions& /*options*/) const {
    return std::nullopt;
  }
  /// Likewise of joules, as kymo::explain_energy() says. Nothing either without power, or where there are no such
  /// frames.
  [[nodiscard]] virtual std::optional<EnergyExplanation> explain_energy(const ExplainOptions& /*options*/) const {
    return std::nullopt;
  }
  /// Likewise where the time of the whole run went, as kymo::explain_run() says.
  [[nodiscard]] virtual std::optional<RunExplanation> explain_run(
      const std::function<void(double)>& /*on_progress*/) const {
    return std::nullopt;
  }
  /// Looks up a span again, with its arguments.
  [[nodiscard]] virtual SpanFacts find_span(const SpanKey& key) const = 0;
};

}  // namespace kymo::panel
