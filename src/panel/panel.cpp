// The panel's public interface.
#include <kymo/panel.hpp>

#include <deque>
#include <stdexcept>
#include <string_view>

#include <kymo/frame.hpp>
#include <kymo/recorder.hpp>

#include "base/system/clock.hpp"
#include "panel/data/live_window.hpp"
#include "panel/data/timeline_blocks.hpp"
#include "panel/view/panel_view.hpp"

namespace kymo {

namespace {

/// ImGui's types change their layout between versions. No panel is better than a crash.
void expect_same_imgui() {
  if (ImGui::GetCurrentContext() == nullptr) {
    throw std::runtime_error("the panel is shown without a Dear ImGui context: call ImGui::CreateContext() first");
  }
  if (std::string_view(ImGui::GetVersion()) != IMGUI_VERSION) {
    throw std::runtime_error(
        std::string("the panel was built with Dear ImGui " IMGUI_VERSION ", and this program has ") +
        ImGui::GetVersion() + ": build kymo with the program's own, as CMake target imgui::imgui");
  }
}

panel::ViewOptions view_options(const PanelConfig& config) {
  panel::ViewOptions options;
  options.targets = {config.good_frame_ms, config.slow_frame_ms};
  return options;
}
panel::DataOptions data_options(const PanelConfig& config) {
  panel::DataOptions options;
  options.cache_bytes = config.cache_bytes;
  return options;
}

}  // namespace

class PanelState::Implementation {
 public:
  explicit Implementation(const PanelConfig& config)
      : config_(config),
        window_(std::make_shared<panel::LiveWindow>(
            panel::HistoryBounds{config.history_capacity, config.history_bytes, panel::DataOptions().most_blocks})),
        blocks_(std::make_shared<panel::LiveBlocks>(window_, empty_scope_ns())),
        view_(blocks_, view_options(config), data_options(config)),
        guard_(Sink::install(window_)),
        samples_(config.samples_machine && start_sampling()) {}
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;
  ~Implementation() {
    if (samples_) {
      stop_sampling();
    }
  }

  void tick() {
    frame_mark();
    ticks_ns_.push_back(base::monotonic_now_ns());
    if (ticks_ns_.size() > config_.history_capacity) {
      ticks_ns_.pop_front();
    }
  }

  void set_columns(const std::vector<MetricColumn>& columns) { blocks_->set_columns(columns, ticks_ns_); }

  void show() {
    expect_same_imgui();
    ImGui::SetNextWindowSize(ImVec2(ImGui::GetFontSize() * 80, ImGui::GetFontSize() * 45), ImGuiCond_FirstUseEver);
    if (ImGui::Begin(config_.title.c_str(), nullptr,
                     ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse)) {
      view_.draw();
    }
    ImGui::End();
  }

  [[nodiscard]] panel::ViewState& state() { return view_.state(); }

 private:
  PanelConfig config_;
  std::shared_ptr<panel::LiveWindow> window_;
  std::shared_ptr<panel::LiveBlocks> blocks_;
  panel::PanelView view_;
  std::deque<std::int64_t> ticks_ns_;
  SinkGuard guard_;
  bool samples_;  // the panel started the sampler
};

PanelState::PanelState(const PanelConfig& config) : implementation_(std::make_unique<Implementation>(config)) {}
PanelState::PanelState(PanelState&&) noexcept = default;
PanelState& PanelState::operator=(PanelState&&) noexcept = default;
PanelState::~PanelState() = default;

void PanelState::tick() {
  implementation_->tick();
}
bool PanelState::is_busy() const {
  return implementation_->state().is_busy();
}
bool PanelState::is_paused() const {
  return implementation_->state().is_paused();
}
void PanelState::toggle_pause() {
  implementation_->state().toggle_pause();
}

void show(PanelState& panel) {
  panel.implementation().show();
}

void show_columns(PanelState& panel, const std::vector<MetricColumn>& columns) {
  panel.implementation().set_columns(columns);
  panel.implementation().show();
}

class ReplayState::Implementation {
 public:
  Implementation(Timeline timeline, const PanelConfig& config)
      : view_(std::make_shared<panel::TimelineBlocks>(std::move(timeline)), view_options(config),
              data_options(config)) {}

  void show() {
    expect_same_imgui();
    view_.draw();
  }
  [[nodiscard]] panel::ViewState& state() { return view_.state(); }

 private:
  panel::PanelView view_;
};

ReplayState::ReplayState(std::unique_ptr<Implementation> implementation) : implementation_(std::move(implementation)) {}
ReplayState::ReplayState(ReplayState&&) noexcept = default;
ReplayState& ReplayState::operator=(ReplayState&&) noexcept = default;
ReplayState::~ReplayState() = default;

ReplayState ReplayState::open(const std::string& path, const PanelConfig& config) {
  return open(std::vector<std::string>{path}, config);
}
ReplayState ReplayState::open(const std::vector<std::string>& paths, const PanelConfig& config) {
  return ReplayState(std::make_unique<Implementation>(Timeline(paths), config));
}

void ReplayState::show() {
  implementation_->show();
}
bool ReplayState::is_busy() const {
  return implementation_->state().is_busy();
}
bool ReplayState::is_paused() const {
  return implementation_->state().is_paused();
}
void ReplayState::toggle_pause() {
  implementation_->state().toggle_pause();
}

}  // namespace kymo
