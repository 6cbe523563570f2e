// The panel: what a program recorded, drawn with Dear ImGui in its own window.
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
//     replay.show();                 // within a window of one's own
//
// Component kymo::panel. It needs a Dear ImGui context of the version it was built with and draws with 16-bit indices
// alone. Everything here is for the thread that draws. `?` lists what mouse and keyboard do.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <kymo/export.hpp>

namespace kymo {

struct PanelConfig {
  std::string title = "kymo";                          ///< of the window that show() opens
  std::size_t history_capacity = 1200;                 ///< frames of the running program that are kept
  std::size_t history_bytes = std::size_t{256} << 20;  ///< and so much memory at most, whatever the frames hold
  double good_frame_ms = 16.7;                         ///< frames up to this are good,
  double slow_frame_ms = 33.4;                         ///< up to this slow, and beyond bad
  std::size_t cache_bytes = std::size_t{256} << 20;    ///< of what was worked out to be drawn
};

/// A metric out of records that a program keeps itself, one for each frame:
///
///     struct Frame { double visible; };
///     kymo::Metric{"visible", &Frame::visible, "splats"}.as_integer()
template <typename Record>
class Metric {
 public:
  /// A member that is a number. The texts are copied.
  template <typename Number>
  Metric(std::string name, Number Record::*member, std::string unit = {})
      : name_(std::move(name)), unit_(std::move(unit)), read_(make_reader(member)) {
    static_assert(std::is_arithmetic_v<Number>, "a metric is made of numbers");
  }

  /// Its values are shown without decimals.
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

/// The values of a metric, one a record.
struct MetricColumn {
  std::string name;
  std::string unit;
  bool is_integer = false;
  std::vector<double> values;
};

/// The panel of the running program. While it lives the program is recorded, and what was recorded last is kept in
/// memory: at the price of a copy on the collector's thread.
class KYMO_API PanelState {
 public:
  explicit PanelState(const PanelConfig& config = {});
  PanelState(PanelState&&) noexcept;
  PanelState& operator=(PanelState&&) noexcept;
  ~PanelState();

  /// Marks a frame (kymo::frame_mark()) and notes its time for records that the program keeps itself.
  void tick();
  /// Whether something of what show() drew is still being worked out: another frame soon will have more of it.
  [[nodiscard]] bool is_busy() const;
  /// Paused, nothing of the panel moves; the program is recorded on.
  [[nodiscard]] bool is_paused() const;
  void toggle_pause();

  /// What this is made of.
  class Implementation;
  [[nodiscard]] Implementation& implementation() const { return *implementation_; }

 private:
  std::unique_ptr<Implementation> implementation_;
};

/// Draws everything that was recorded in a window of its own. Throws std::runtime_error where the program's Dear ImGui
/// is of another version than the one the panel was built with. Under a millisecond where nothing changes.
KYMO_API void show(PanelState& panel);

/// The same, with metrics whose values the program hands over: one value for each tick(), the last for the last one.
KYMO_API void show_columns(PanelState& panel, const std::vector<MetricColumn>& columns);

/// The same, with metrics out of a program's own records, one for each tick(), the last for the last one.
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

/// The panel of captures, which are followed while they grow.
class KYMO_API ReplayState {
 public:
  /// Opens a capture or a directory of them. CaptureError as Timeline's.
  [[nodiscard]] static ReplayState open(const std::string& path, const PanelConfig& config = {});
  /// Several, on one time axis.
  [[nodiscard]] static ReplayState open(const std::vector<std::string>& paths, const PanelConfig& config = {});
  ReplayState(ReplayState&&) noexcept;
  ReplayState& operator=(ReplayState&&) noexcept;
  ~ReplayState();

  /// Fills what is left of the current window. Throws std::runtime_error where the program's Dear ImGui is of another
  /// version than the one the panel was built with.
  void show();
  /// Whether something of what show() drew is still being read: another frame soon will have more of it.
  [[nodiscard]] bool is_busy() const;
  [[nodiscard]] bool is_paused() const;
  void toggle_pause();

 private:
  class Implementation;
  explicit ReplayState(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace kymo
