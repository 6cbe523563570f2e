// The data that the panel draws: the pieces of a stretch of time at the right detail, as far as loaded, and a worker
// that loads missing ones.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "panel/data/block_provider.hpp"
#include "panel/data/drop_counts.hpp"
#include "panel/data/frame_cover.hpp"
#include "panel/data/worker.hpp"
#include "stats/energy/span_energy.hpp"
#include "timeline/block_choice.hpp"

namespace kymo::panel {

struct DataOptions {
  bool has_thread = true;  ///< else poll() decodes for the duration `budget`
  std::chrono::nanoseconds budget = std::chrono::milliseconds(3);
  /// Lists are read in parts of this length, so that the view's data is loaded in between.
  std::chrono::nanoseconds part_of_scan = std::chrono::milliseconds(10);
  std::size_t cache_bytes = std::size_t{256} << 20U;  ///< of decoded pieces
  /// If a range has more blocks, only summaries are read. The limit is lower for remote blocks.
  std::size_t most_blocks = 4096;
  /// Data that could not be read, as when its server is away, is read again after this time.
  std::chrono::nanoseconds retry_after = std::chrono::seconds(1);
};

/// The requester of pieces. Its missing pieces are fetched until it asks for something else.
enum class Asker : std::uint8_t {
  flame,
  overview,
  frames,
  past,
  pin,
  chart_frames,
  chart_number,
  pin_number,
  tip_number,
  wanted_number
};
inline constexpr std::size_t asker_count = 10;

/// The required content of pieces.
struct Wish {
  Asker asker = Asker::flame;
  bool spans = true;        ///< else frames and samples suffice
  std::int64_t bin_ns = 0;  ///< maximum width of bins
};

/// The energy of the selected span.
struct SpanEnergyFacts {
  enum class State : std::uint8_t {
    reading,
    no_source,  ///< no power source measured its hardware
    too_long,   ///< too long to compute while someone waits
    known
  };
  State state = State::reading;
  stats::SpanJoules joules;
};

/// Why what was asked for takes longer than usual.
struct Explained {
  enum class State {
    none,  ///< nothing was asked
    reading,
    known,
    failed,      ///< `failure` says why
    impossible,  ///< there is no capture to read
  };
  State state = State::none;
  std::vector<Explanation> explanations;
  std::optional<EnergyExplanation> of_energy;  ///< where power was recorded
  std::optional<RunExplanation> of_run;        ///< where all is asked about and nothing can be compared
  std::string failure;
  std::uint64_t data_version = 0;  ///< of the data it is of
  std::uint64_t version = 0;       ///< increases with each change
};

/// The location of a span of a site.
struct FoundSpan {
  bool is_found = false;
  SpanKey key;
};

/// Where a block of a scan stands.
struct ScannedBlock {
  std::size_t capture = 0;
  timeline::SkippedBlocks skipped = timeline::SkippedBlocks::none;  ///< of its capture, since the block before
  bool follows_all = true;                                          ///< no earlier block of its capture was left out
};

/// Blocks to read in the background, in the order of the captures and of their blocks.
struct BlockScan {
  TimeRange range;  ///< the blocks that overlap it; for scopes also those that tell what is open in it
  BatchParts parts = BatchParts::everything;
  std::optional<std::size_t> capture;  ///< only this one
  /// Takes a block, on the worker's thread. `batch`: nullptr if it could not be read.
  std::function<void(const EventBatch* batch, const ScannedBlock& block)> take;
  /// Called on the drawing thread after some blocks, and after the last one; nothing is taken meanwhile. Returns
  /// whether to go on.
  std::function<bool(bool is_done)> deliver;
};

/// The pieces of a provider's data. For one thread.
class PanelData {
 public:
  /// Individual spans are shown if a range has at most this many blocks.
  static constexpr std::size_t most_exact_blocks = 64;
  /// The finest level with at most this many summaries is drawn.
  static constexpr std::size_t most_summaries = 512;

  PanelData(std::shared_ptr<BlockProvider> provider, DataOptions options);
  PanelData(const PanelData&) = delete;
  PanelData& operator=(const PanelData&) = delete;
  ~PanelData() { stop_explaining(); }

  /// Call once a frame before drawing: takes the worker's results and, unless frozen, newly recorded data. Returns
  /// whether anything changed.
  bool poll();
  /// Call once a frame after all requests: tells the worker what is missing.
  void request_missing();
  /// While frozen, newly recorded data does not appear.
  void set_frozen(bool frozen) { is_frozen_ = frozen; }

  [[nodiscard]] const BlockProvider& provider() const { return *provider_; }
  [[nodiscard]] TimeRange range() const { return range_; }
  /// Increases whenever pieces() may return something different.
  [[nodiscard]] std::uint64_t revision() const { return revision_; }

  /// The pieces that show a range, by ascending start within each capture; exact ones if the range is short enough and
  /// spans are wanted. Requests pieces that are not decoded yet and returns coarser ones or none in their place.
  [[nodiscard]] std::vector<Piece> pieces(TimeRange range, const Wish& wish);

  /// The frames of a stream in a range, with those that only begin or end in it. Requests what is not decoded yet.
  [[nodiscard]] FrameCover frames(FrameStreamId stream, TimeRange range, Asker asker);

  /// The number of the frame of a stream that begins at a time: one more than end up to then. They are counted by
  /// summaries and the blocks between them, of any time. Nothing before the first mark, while these are being read, or
  /// if some are damaged or gone.
  [[nodiscard]] std::optional<FrameNumber> frame_number(FrameStreamId stream, std::int64_t start_ns, Asker asker);

  /// Blocks and summaries that end before a time, the latest first, as far back as a value may usefully hold.
  [[nodiscard]] std::vector<Piece> past(std::int64_t time_ns, Asker asker);

  /// Looks up a span. span_facts() returns the result some frames later.
  void ask_for_span(const SpanKey& key);
  [[nodiscard]] const std::optional<SpanFacts>& span_facts() const { return span_facts_; }
  /// The energy of that span, some frames after its facts.
  [[nodiscard]] const SpanEnergyFacts& span_energy() const { return span_energy_; }
  /// Reads blocks in the background.
  void scan(std::shared_ptr<const BlockScan> scan);
  /// Increases with new data.
  [[nodiscard]] std::uint64_t data_version() const { return data_version_; }
  /// Searches for the next (previous) scope of a site that begins after (before) a time. take_found() returns the
  /// result.
  void ask_for_site(SiteId site, std::int64_t from_ns, bool forward);
  /// Returns the result of the last search once.
  [[nodiscard]] std::optional<FoundSpan> take_found();

  /// Asks the provider to explain, on a thread of its own; gives up on what was asked before.
  void ask_to_explain(const ExplainOptions& options);
  /// What is known of what was asked last.
  [[nodiscard]] const Explained& explained() const { return explained_; }
  /// Whether background work holds nothing up.
  [[nodiscard]] bool has_thread() const { return options_.has_thread; }

  /// The known losses.
  [[nodiscard]] DropCounts drops() const;

  /// Computes the sites' statistics over everything if they are missing or outdated, at most once a second.
  void keep_figures_fresh();
  [[nodiscard]] const std::vector<stats::SiteFigures>& figures() const { return figures_; }
  /// Increases with each new set of figures; 0: none yet.
  [[nodiscard]] std::uint64_t figures_version() const { return figures_version_; }

  /// Whether a request is still pending.
  [[nodiscard]] bool is_busy() const { return worker_.is_busy() || is_explaining() || has_new_wishes_; }
  /// Waits for a result, or until nothing is pending. Call poll() afterwards.
  void wait() const { !worker_.is_busy() && is_explaining() ? explainer_->wait() : worker_.wait(); }

 private:
  struct Entry {
    Piece piece;
    std::uint64_t last_used = 0;
  };
  /// The pieces that a requester lacks.
  struct Missing {
    std::vector<Worker::Key> summaries;
    std::vector<Worker::Key> blocks;
  };
  /// The blocks of one capture from which a range is drawn.
  struct Cover {
    std::size_t capture = 0;
    TimeRange range;
    Wish wish;
    bool is_exact = false;  ///< the range is short enough for individual spans
    bool reads_blocks = true;
    std::vector<Piece>* out = nullptr;
    Missing* missing = nullptr;
  };

  /// The blocks of one capture that overlap a range lie in [first, end); if there are none, both are its place.
  struct Overlap {
    std::size_t first = 0;
    std::size_t end = 0;
    std::size_t count = 0;
  };

  struct FrameSearch;
  struct SiteQuestion;
  struct EnergyQuestion;

  struct ScanPlaces;

  void stop_explaining() { ++*explanation_; }
  [[nodiscard]] bool is_explaining() const { return explainer_ != nullptr && explainer_->is_busy(); }
  void go_on_scanning(std::shared_ptr<ScanPlaces> places);
  void look_for_site(std::shared_ptr<SiteQuestion> question);
  void ask_for_energy(const SpanKey& key, TimeRange span);
  void read_energy(std::shared_ptr<EnergyQuestion> question);
  void count_drops();
  /// Forgets what the requester lacked.
  Missing& begin_asking(Asker asker);
  [[nodiscard]] static Overlap blocks_in(const CaptureBlocks& list, TimeRange range);
  void cover(const Cover& wanted, std::size_t first, std::size_t end, int level);
  void cover_blocks(const Cover& wanted, std::size_t first, std::size_t end, const SummaryPlace* summary);
  [[nodiscard]] int level_for(const CaptureBlocks& list, std::size_t first, std::size_t end) const;
  /// The same for both: nothing if it is not loaded yet, and requested then. A damaged one has no bytes.
  Piece look_up_summary(const Cover& wanted, const SummaryPlace& summary);
  Piece look_up_block(const Cover& wanted, std::size_t block);
  Piece look_up(Worker::Key key);
  [[nodiscard]] Worker::Delivery load(Worker::Key key);
  void keep(Worker::Key key, Piece piece);
  void evict();

  std::shared_ptr<BlockProvider> provider_;
  DataOptions options_;
  TimeRange range_;
  bool is_frozen_ = false;
  bool has_new_wishes_ = false;  // missing_ has not been passed to the worker
  std::uint64_t revision_ = 1;
  std::uint64_t frame_ = 1;
  std::unordered_map<Worker::Key, Entry> cache_;
  std::size_t cached_bytes_ = 0;
  std::optional<std::chrono::steady_clock::time_point> retry_at_;  // something could not be read
  std::array<Missing, asker_count> missing_;                       // by requester
  std::optional<SpanFacts> span_facts_;
  SpanEnergyFacts span_energy_;
  std::uint64_t span_question_ = 0;  // number of the last ask_for_span()
  DropCounter drop_counter_;
  std::optional<FoundSpan> found_;
  std::vector<stats::SiteFigures> figures_;
  std::uint64_t figures_version_ = 0;
  std::uint64_t data_version_ = 1;     // increases with new data
  std::uint64_t figures_of_data_ = 0;  // the version that the figures cover or are being computed for
  bool adds_up_ = false;
  std::chrono::steady_clock::time_point last_figures_{};
  std::uint64_t question_ = 0;  // number of the last ask_for_site()
  Explained explained_;
  /// The number of the last ask_to_explain(), which the thread sees.
  std::shared_ptr<std::atomic<std::uint64_t>> explanation_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  Worker worker_;                      // last, because their threads must end before the rest is destroyed
  std::unique_ptr<Worker> explainer_;  // made when it is asked: its work may take seconds
};

}  // namespace kymo::panel
