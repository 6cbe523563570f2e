// The panel: shows a program's own recording, drawn with Dear ImGui in its window.
//
//     kymo::enable();
//     kymo::PanelState panel{kymo::PanelConfig{}};
//     while (...) {
//       step();
//       kymo::frame_mark();
//       kymo::show(panel);           // between ImGui::NewFrame() and ImGui::Render()
//     }
//
// or a capture, while it grows or afterwards:
//
//     kymo::ReplayState replay = kymo::ReplayState::open("run.kymo");
//     replay.show();                 // inside a window of the program
//
// Component kymo::panel. Needs a Dear ImGui context of the version that it was built with; 16-bit indices suffice. All
// calls must come from the thread that draws. `?` lists the mouse and keyboard controls.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <kymo/export.hpp>

namespace kymo {

/// How a panel looks and how much it keeps.
struct PanelConfig {
  std::string title = "kymo";                          ///< title of the window that show() opens
  std::size_t history_capacity = 1200;                 ///< number of the running program's frames that are kept
  std::size_t history_bytes = std::size_t{256} << 20;  ///< memory limit for them, whatever the frames contain
  double good_frame_ms = 16.7;                         ///< frames up to this are good,
  double slow_frame_ms = 33.4;                         ///< up to this slow, and above it bad
  std::size_t cache_bytes = std::size_t{256} << 20;    ///< size of the cache of computed drawing data
  /// Show the machine and the process beside the running program: kymo::start_sampling() while the panel exists.
  /// Nothing happens if kymo::sense is neither linked nor installed.
  bool samples_machine = true;
};

/// A metric read from the program's own records, one record per frame:
///
///     struct Frame { double visible; };
///     kymo::Metric{"visible", &Frame::visible, "splats"}.as_integer()
template <typename Record>
class Metric {
 public:
  /// A numeric member of the record. The texts are copied.
  template <typename Number>
  Metric(std::string name, Number Record::*member, std::string unit = {})
      : name_(std::move(name)), unit_(std::move(unit)), read_(make_reader(member)) {
    static_assert(std::is_arithmetic_v<Number>, "a metric is made of numbers");
  }

  /// Shows the values without decimals.
  [[nodiscard]] Metric as_integer() const {
    Metric metric = *this;
    metric.is_integer_ = true;
    return metric;
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& unit() const { return unit_; }
  [[nodiscard]] bool is_integer() const { return is_integer_; }
  [[nodiscard]] double value_of(const Record& record) const { return read_->value_of(record); }

 private:
  struct Reader {
    virtual ~Reader() = default;
    [[nodiscard]] virtual double value_of(const Record& record) const = 0;
  };
  template <typename Number>
  static std::shared_ptr<const Reader> make_reader(Number Record::*member) {
    struct MemberReader final : Reader {
      explicit MemberReader(Number Record::*which) : member(which) {}
      [[nodiscard]] double value_of(const Record& record) const override { return static_cast<double>(record.*member); }
      Number Record::*member;
    };
    return std::make_shared<MemberReader>(member);
  }

  std::string name_;
  std::string unit_;
  bool is_integer_ = false;
  std::shared_ptr<const Reader> read_;
};

/// The values of a metric, one per record.
struct MetricColumn {
  std::string name;
  std::string unit;
  bool is_integer = false;
  std::vector<double> values;
};

/// The panel of the running program. While it exists, the program is recorded, and the latest part of the recording is
/// kept in memory. This costs one copy on the collector's thread.
class KYMO_API PanelState {
 public:
  explicit PanelState(const PanelConfig& config = {});
  PanelState(PanelState&&) noexcept;
  PanelState& operator=(PanelState&&) noexcept;
  ~PanelState();

  /// Marks a frame (kymo::frame_mark()) and stores its time for the program's own records.
  void tick();
  /// True if data for show() is still being computed: another frame soon will show more of it.
  [[nodiscard]] bool is_busy() const;
  /// While paused, the panel stands still; recording continues.
  [[nodiscard]] bool is_paused() const;
  void toggle_pause();

  /// For kymo's own layers.
  class Implementation;
  [[nodiscard]] Implementation& implementation() const { return *implementation_; }

 private:
  std::unique_ptr<Implementation> implementation_;
};

/// Draws the recording in its own window. Throws std::runtime_error if the program's Dear ImGui version differs from
/// the one that the panel was built with. Under a millisecond if nothing changes.
KYMO_API void show(PanelState& panel);

/// The same with metrics supplied by the program: one value per tick(); the last value belongs to the last tick().
KYMO_API void show_columns(PanelState& panel, const std::vector<MetricColumn>& columns);

/// The same with metrics from the program's own records: one per tick(); the last record belongs to the last tick().
template <typename History, typename Record>
void show(PanelState& panel, const History& history, const std::vector<Metric<Record>>& metrics) {
  std::vector<MetricColumn> columns;
  for (const Metric<Record>& metric : metrics) {
    MetricColumn column{metric.name(), metric.unit(), metric.is_integer(), {}};
    for (const Record& record : history) {
      column.values.push_back(metric.value_of(record));
    }
    columns.push_back(std::move(column));
  }
  show_columns(panel, columns);
}

/// The panel of captures. Follows them while they grow.
class KYMO_API ReplayState {
 public:
  /// Opens a capture or a directory of captures. Throws CaptureError like Timeline.
  [[nodiscard]] static ReplayState open(const std::string& path, const PanelConfig& config = {});
  /// Opens several on one time axis.
  [[nodiscard]] static ReplayState open(const std::vector<std::string>& paths, const PanelConfig& config = {});
  ReplayState(ReplayState&&) noexcept;
  ReplayState& operator=(ReplayState&&) noexcept;
  ~ReplayState();

  /// Fills the rest of the current window. Throws std::runtime_error if the program's Dear ImGui version differs from
  /// the one that the panel was built with.
  void show();
  /// True if data for show() is still being read: another frame soon will show more of it.
  [[nodiscard]] bool is_busy() const;
  [[nodiscard]] bool is_paused() const;
  void toggle_pause();

 private:
  class Implementation;
  explicit ReplayState(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace kymo
