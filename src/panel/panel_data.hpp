// What the panel draws from: the pieces of a stretch of time at the detail that fits it, as far as they are known now,
// and a worker that gets what is missing.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "panel/block_provider.hpp"
#include "panel/drop_counts.hpp"
#include "panel/worker.hpp"
#include "stats/span_energy.hpp"

namespace kymo::panel {

using Piece = std::shared_ptr<const Detail>;

struct DataOptions {
  bool has_thread = true;  ///< else poll() decodes for as long as `budget`
  std::chrono::nanoseconds budget = std::chrono::milliseconds(3);
  std::size_t cache_bytes = std::size_t{256} << 20U;  ///< of decoded pieces
  /// Beyond so many blocks in a range only summaries are read; fewer where blocks come from far away.
  std::size_t most_blocks = 4096;
};

/// Who asks for pieces: what one still lacks is fetched until it asks for something else.
enum class Asker : std::uint8_t { flame, overview, pin };

/// What pieces are wanted for.
struct Wish {
  Asker asker = Asker::flame;
  bool spans = true;        ///< else frames and samples are enough
  std::int64_t bin_ns = 0;  ///< bins up to this width are fine enough
};

/// What the selected span took.
struct SpanEnergyFacts {
  enum class State : std::uint8_t {
    reading,
    no_source,  ///< nothing measured what it ran on
    too_long,   ///< to be added up while someone waits
    known
  };
  State state = State::reading;
  stats::SpanJoules joules;
};

/// Where a span of a site was found.
struct FoundSpan {
  bool is_found = false;
  SpanKey key;
};

/// The pieces of what a provider has. For one thread.
class PanelData {
 public:
  /// Spans are told apart where a range has at most so many blocks.
  static constexpr std::size_t most_exact_blocks = 64;
  /// At most so many summaries are drawn, of the finest level that allows it.
  static constexpr std::size_t most_summaries = 512;

  PanelData(std::shared_ptr<BlockProvider> provider, DataOptions options);

  /// Once a frame, before anything is drawn: takes over what the worker has got and, unless frozen, what was recorded
  /// since. Whether anything changed.
  bool poll();
  /// Once a frame, after everything was asked for: tells the worker what is missing.
  void request_missing();
  /// Frozen, nothing that is recorded from now on appears.
  void set_frozen(bool frozen) { is_frozen_ = frozen; }

  [[nodiscard]] const BlockProvider& provider() const { return *provider_; }
  [[nodiscard]] TimeRange range() const { return range_; }
  /// Counts up whenever pieces() may answer something else.
  [[nodiscard]] std::uint64_t revision() const { return revision_; }

  /// The pieces that show a range, by ascending start within each capture: exact ones where it is short enough and
  /// spans are wanted. What is not decoded yet is asked for and shown by a coarser piece, or not at all.
  [[nodiscard]] std::vector<Piece> pieces(TimeRange range, const Wish& wish);

  /// Looks a span up; span_facts() tells what was found, some frames later.
  void ask_for_span(const SpanKey& key);
  [[nodiscard]] const std::optional<SpanFacts>& span_facts() const { return span_facts_; }
  /// What that span took, some frames after its facts.
  [[nodiscard]] const SpanEnergyFacts& span_energy() const { return span_energy_; }
  /// Looks for the next (or previous) scope of a site that begins after (or before) a time. found() tells.
  void ask_for_site(SiteId site, std::int64_t from_ns, bool forward);
  /// What the last question found, once.
  [[nodiscard]] std::optional<FoundSpan> take_found();

  /// What was lost, as far as it is known.
  [[nodiscard]] DropCounts drops() const;

  /// Has what sites amount to added up, where it was not or data came since; at most once a second.
  void keep_figures_fresh();
  [[nodiscard]] const std::vector<stats::SiteFigures>& figures() const { return figures_; }
  /// Counts up with each new set of figures; 0: there are none yet.
  [[nodiscard]] std::uint64_t figures_version() const { return figures_version_; }

  /// Whether something that was asked for is still on its way.
  [[nodiscard]] bool is_busy() const { return worker_.is_busy() || has_new_wishes_; }
  /// Waits for something to come, or for nothing to be on its way; then poll().
  void wait() const { worker_.wait(); }

 private:
  struct Entry {
    Piece piece;
    std::uint64_t last_used = 0;
  };
  /// What an asker lacks.
  struct Missing {
    std::vector<Worker::Key> summaries;
    std::vector<Worker::Key> blocks;
  };
  /// The blocks of one capture that a range is drawn from.
  struct Cover {
    std::size_t capture = 0;
    TimeRange range;
    Wish wish;
    bool is_exact = false;  ///< the range is short enough to tell spans apart
    bool reads_blocks = true;
    std::vector<Piece>* out = nullptr;
    Missing* missing = nullptr;
  };

  struct SiteQuestion;
  struct EnergyQuestion;

  void look_for_site(std::shared_ptr<SiteQuestion> question);
  void ask_for_energy(const SpanKey& key, TimeRange span);
  void read_energy(std::shared_ptr<EnergyQuestion> question);
  void count_drops();
  void cover(const Cover& wanted, std::size_t first, std::size_t end, int level);
  void cover_blocks(const Cover& wanted, std::size_t first, std::size_t end, const SummaryPlace* summary);
  [[nodiscard]] int level_for(const CaptureBlocks& list, std::size_t first, std::size_t end) const;
  Piece look_up_block(const Cover& wanted, std::size_t block);
  Piece look_up(Worker::Key key);
  [[nodiscard]] Worker::Delivery load(Worker::Key key);
  void keep(Worker::Key key, Piece piece);
  void evict();

  std::shared_ptr<BlockProvider> provider_;
  DataOptions options_;
  TimeRange range_;
  bool is_frozen_ = false;
  bool has_new_wishes_ = false;  // missing_ was not handed to the worker yet
  std::uint64_t revision_ = 1;
  std::uint64_t frame_ = 1;
  std::unordered_map<Worker::Key, Entry> cache_;
  std::size_t cached_bytes_ = 0;
  std::array<Missing, 3> missing_;  // by asker
  std::optional<SpanFacts> span_facts_;
  SpanEnergyFacts span_energy_;
  std::uint64_t span_question_ = 0;  // of the last ask_for_span()
  DropCounter drop_counter_;
  std::optional<FoundSpan> found_;
  std::vector<stats::SiteFigures> figures_;
  std::uint64_t figures_version_ = 0;
  std::uint64_t data_version_ = 1;     // counts up with new data
  std::uint64_t figures_of_data_ = 0;  // the version that the figures are of, or are being added up of
  bool adds_up_ = false;
  std::chrono::steady_clock::time_point last_figures_{};
  std::uint64_t question_ = 0;  // of the last ask_for_site()
  Worker worker_;               // last: its thread must end before the rest goes
};

}  // namespace kymo::panel
