// The panel in the page: the functions that worker.js calls. One thread, one canvas, one panel. An error ends only the
// failed operation and is reported as a text, whatever the captures and the server sent.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <emscripten/emscripten.h>
#include <imgui.h>
#include <imgui_impl_opengl3.h>

#include "browser.hpp"
#include "glyphs.hpp"
#include "input.hpp"
#include "page_state.hpp"
#include "paged_bytes.hpp"
#include "panel/compare/compare_view.hpp"
#include "panel/data/time_math.hpp"
#include "panel/data/timeline_blocks.hpp"
#include "panel/draw/style.hpp"
#include "panel/draw/text.hpp"
#include "panel/view/panel_view.hpp"

namespace kymo::web {

namespace {

/// The size of the cache of decoded pieces: a page has less memory than a program.
constexpr std::size_t cache_bytes = std::size_t{160} << 20U;

/// Time for decoding between two frames, because there is no other thread for it.
constexpr std::chrono::milliseconds work_of_a_frame{12};

/// About 60 MB, possibly over a network. Beyond that, summaries suffice.
constexpr std::size_t most_blocks = 256;

/// Of each of two captures that are compared. Their verdicts need all of both, and a page has no thread to wait in.
constexpr std::uint64_t most_judged_bytes = std::uint64_t{64} << 20U;

/// Nanoseconds as "1.5s", without a rounding error.
std::string seconds_text(std::int64_t ns) {
  constexpr std::int64_t second_ns = 1'000'000'000;
  ns = std::max<std::int64_t>(ns, 0);
  std::string fraction = std::to_string(second_ns + ns % second_ns).substr(1);
  fraction.resize(fraction.find_last_not_of('0') + 1);
  return std::to_string(ns / second_ns) + (fraction.empty() ? "" : "." + fraction) + 's';
}

class Page {
 public:
  [[nodiscard]] bool start() {
    if (!make_context_current()) {
      message_ = "this browser gives no WebGL 2 to draw with";
      return false;
    }
    return make_context();
  }

  void add_capture(int number, std::string name) {
    captures_[number] =
        std::make_shared<PagedBytes>(name, [number, name](std::uint64_t offset, std::span<std::byte> out) {
          return fetch_bytes(number, name, offset, out);
        });
  }
  std::uint64_t add_outline(int number, std::span<const std::byte> bytes) { return capture(number).add_outline(bytes); }
  void set_size(int number, std::uint64_t size) { capture(number).set_size(size); }
  void set_arrival(int number, int arrival) {
    arrivals_[capture(number).name()] = static_cast<panel::Arrival>(std::clamp(arrival, 0, 3));
  }

  /// Shows captures on one axis in place of the current ones.
  void show(std::span<const int> numbers) {
    close();
    view_ = std::make_unique<panel::PanelView>(provide(numbers), panel::ViewOptions{}, data_options());
  }
  /// Shows a capture beside one of before a change.
  void compare(int base, int changed) {
    close();
    const auto side_of = [this](int number) {
      panel::ComparedCapture side;
      side.provider = provide({&number, 1});
      side.title = panel::clean_text(capture(number).name());
      side.runs.open = [bytes = captures_[number]](std::size_t) {
        if (bytes->size() > most_judged_bytes) {
          throw std::runtime_error(bytes->name() + " is too large to be read as a whole here; `kymo compare` tells");
        }
        std::vector<CaptureReader> readers;
        readers.push_back(capture::open_source(make_source(bytes), bytes->name()));
        return Timeline(std::move(readers));
      };
      return side;
    };
    compared_ =
        std::make_unique<panel::CompareView>(side_of(base), side_of(changed), panel::ViewOptions{}, data_options());
  }
  void close() {
    view_.reset();
    compared_.reset();
  }

  /// Shows a stretch, in nanoseconds since the start.
  void show_stretch(double from_ns, double to_ns) {
    if (shown() == nullptr) {
      return;
    }
    panel::ViewState& state = shown()->state();
    const TimeRange all = state.data().range();
    const auto time = [&all](double ns) {
      const double length = static_cast<double>(panel::length_between(all.start_ns, all.end_ns));
      return panel::add_length(all.start_ns, static_cast<std::int64_t>(std::clamp(ns, 0.0, length)));
    };
    const TimeRange stretch{time(from_ns), time(to_ns)};
    if (stretch.start_ns < stretch.end_ns) {
      state.overview().show(stretch);
      state.flame().show(stretch);
      state.hold();
    }
  }
  void pin_frame(double number) {
    if (shown() != nullptr && number >= 1 && number < 1e15) {
      shown()->state().pin_number(static_cast<FrameNumber>(number));
    }
  }
  /// What the flame chart shows, as a link says it; empty: everything, or the newest.
  [[nodiscard]] const std::string& stretch() {
    text_.clear();
    if (shown() != nullptr && !shown()->state().follows()) {
      const TimeRange all = shown()->state().data().range();
      const TimeRange seen = shown()->state().flame().range();
      if (seen.start_ns > all.start_ns || seen.end_ns < all.end_ns) {
        text_ = seconds_text(panel::length_between(all.start_ns, seen.start_ns)) + ".." +
                seconds_text(panel::length_between(all.start_ns, seen.end_ns));
      }
    }
    return text_;
  }

  void resize(float width, float height, float ratio) {
    width_ = std::max(width, 1.0F);
    height_ = std::max(height, 1.0F);
    ratio = std::clamp(ratio, 0.5F, 8.0F);
    if (ratio != ratio_) {
      ratio_ = ratio;
      use_ratio();
    }
  }
  void set_theme(bool is_dark) {
    is_dark_ = is_dark;
    panel::use_style(!is_dark_, ratio_);
  }
  void add_input(Input input) {
    // Converts page pixels to screen pixels.
    if (input.kind == InputKind::move && input.x >= 0) {
      input.x *= ratio_;
      input.y *= ratio_;
    }
    input_.add(input);
  }

  void draw() {
    ImGuiIO& io = ImGui::GetIO();
    // All sizes are in physical pixels to keep text sharp.
    io.DisplaySize = ImVec2(width_ * ratio_, height_ * ratio_);
    const auto now = std::chrono::steady_clock::now();
    io.DeltaTime = std::clamp(std::chrono::duration<float>(now - last_draw_).count(), 1e-4F, 1.0F);
    last_draw_ = now;
    input_.hand_over();
    ImGui_ImplOpenGL3_NewFrame();
    ImGui::NewFrame();
    ImGui::SetNextWindowPos(ImVec2(0, 0));
    ImGui::SetNextWindowSize(io.DisplaySize);
    ImGui::Begin("kymo", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                     ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoBringToFrontOnFocus);
    try {
      if (compared_ != nullptr) {
        compared_->draw();
      } else if (view_ != nullptr) {
        view_->draw();
      }
    } catch (...) {
      // The frame was begun but not ended; only a new context can fix that.
      close();
      ImGui_ImplOpenGL3_Shutdown();
      ImGui::DestroyContext();
      static_cast<void>(make_context());
      throw;
    }
    ImGui::End();
    ImGui::Render();
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
    ++drawn_;
  }

  /// Continues decoding for some milliseconds if the next frame is late.
  void work() {
    if (compared_ != nullptr && compared_->is_busy()) {
      static_cast<void>(compared_->poll());
    } else if (view_ != nullptr && view_->state().is_busy()) {
      static_cast<void>(view_->state().data().poll());
    }
  }

  /// Whether another frame would differ without any input.
  [[nodiscard]] bool is_busy() const {
    return !input_.is_empty() || (compared_ != nullptr && compared_->is_busy()) ||
           (view_ != nullptr && view_->state().is_busy());
  }
  [[nodiscard]] const std::string& describe() {
    text_ = shown() == nullptr ? std::string("null") : describe_view(*shown(), ratio_, drawn_);
    if (compared_ != nullptr) {
      text_ = describe_comparison(*compared_, ratio_, drawn_);
    }
    return text_;
  }
  [[nodiscard]] std::string& message() { return message_; }

 private:
  [[nodiscard]] PagedBytes& capture(int number) {
    const auto found = captures_.find(number);
    if (found == captures_.end()) {
      throw CaptureError("capture " + std::to_string(number), 0, "is not known to the page");
    }
    return *found->second;
  }

  /// The view that links are of: of two captures, the new one.
  [[nodiscard]] panel::PanelView* shown() { return compared_ != nullptr ? &compared_->changed() : view_.get(); }

  [[nodiscard]] static panel::DataOptions data_options() {
    panel::DataOptions options;
    options.has_thread = false;
    options.cache_bytes = cache_bytes;
    options.budget = work_of_a_frame;
    options.most_blocks = most_blocks;
    return options;
  }

  [[nodiscard]] std::shared_ptr<panel::BlockProvider> provide(std::span<const int> numbers) {
    std::vector<CaptureReader> readers;
    for (const int number : numbers) {
      static_cast<void>(capture(number));
      readers.push_back(capture::open_source(make_source(captures_[number]), captures_[number]->name()));
    }
    // A file that the user opened gets no more data.
    const auto look_for_more = [this](const CaptureReader& reader) {
      const auto known = arrivals_.find(reader.path());
      return known != arrivals_.end() ? known->second : panel::Arrival::cut_off;
    };
    return std::make_shared<panel::TimelineBlocks>(Timeline(std::move(readers)), look_for_more);
  }

  [[nodiscard]] bool make_context() {
    ImGui::CreateContext();
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.SetClipboardTextFn = [](void*, const char* text) { copy_text(text); };
    io.GetClipboardTextFn = nullptr;  // pasted text arrives as characters
    InputQueue::set_up();
    const bool has_renderer = ImGui_ImplOpenGL3_Init("#version 300 es");
    use_ratio();
    return has_renderer;
  }

  void use_ratio() {
    use_browser_font(panel::text_pixels * ratio_);
    ImGui_ImplOpenGL3_DestroyDeviceObjects();  // the next frame recreates the font's texture
    ImGui::GetIO().MouseDragThreshold = 6 * ratio_;
    ImGui::GetIO().MouseDoubleClickMaxDist = 6 * ratio_;
    panel::use_style(!is_dark_, ratio_);
  }

  std::map<int, std::shared_ptr<PagedBytes>> captures_;
  std::map<std::string, panel::Arrival> arrivals_;  // by name; of a server's captures
  std::unique_ptr<panel::PanelView> view_;          // one of these two, or none
  std::unique_ptr<panel::CompareView> compared_;
  InputQueue input_;
  float width_ = 1;
  float height_ = 1;
  float ratio_ = 1;
  bool is_dark_ = true;
  std::chrono::steady_clock::time_point last_draw_{};
  std::uint64_t drawn_ = 0;
  std::string message_;
  std::string text_;
};

Page& page() {
  static Page the_page;
  return the_page;
}

/// Runs an action. Returns false on failure; page_message() then has the reason.
template <typename Action>
bool attempt(Action action) {
  try {
    action();
    return true;
  } catch (const std::bad_alloc&) {
    page().message() = "there is not enough memory for this in the browser";
  } catch (const std::exception& error) {
    page().message() = error.what();
  }
  return false;
}

}  // namespace

}  // namespace kymo::web

using kymo::web::attempt;
using kymo::web::page;

extern "C" {

/// The reason of the last failed call.
EMSCRIPTEN_KEEPALIVE const char* page_message() {
  return page().message().c_str();
}

EMSCRIPTEN_KEEPALIVE bool page_start() {
  bool is_started = false;
  return attempt([&is_started] { is_started = page().start(); }) && is_started;
}

/// Registers a capture under a number, by which its bytes are fetched.
EMSCRIPTEN_KEEPALIVE bool page_add_capture(int number, const char* name) {
  return attempt([=] { page().add_capture(number, name); });
}

/// Returns where the outline continues; -1: it is not an outline.
EMSCRIPTEN_KEEPALIVE double page_add_outline(int number, const std::byte* bytes, std::uint32_t size) {
  double end = -1;
  static_cast<void>(attempt([&] { end = static_cast<double>(page().add_outline(number, {bytes, size})); }));
  return end;
}

EMSCRIPTEN_KEEPALIVE bool page_set_size(int number, double size) {
  return attempt([=] { page().set_size(number, size >= 0 ? static_cast<std::uint64_t>(size) : 0); });
}

/// Whether more of a capture comes: 1: it is recorded; 2: its program ended without closing it; 3: its server is away.
EMSCRIPTEN_KEEPALIVE bool page_set_arrival(int number, int arrival) {
  return attempt([=] { page().set_arrival(number, arrival); });
}

EMSCRIPTEN_KEEPALIVE bool page_show(const int* numbers, std::uint32_t count) {
  return attempt([=] { page().show({numbers, count}); });
}

/// Shows a capture beside the one that it is compared with.
EMSCRIPTEN_KEEPALIVE bool page_compare(int base, int changed) {
  return attempt([=] { page().compare(base, changed); });
}

/// Shows a stretch of what is shown, in nanoseconds since its start.
EMSCRIPTEN_KEEPALIVE void page_show_stretch(double from_ns, double to_ns) {
  page().show_stretch(from_ns, to_ns);
}

/// Pins a frame by its number, from 1 on.
EMSCRIPTEN_KEEPALIVE void page_pin_frame(double number) {
  page().pin_frame(number);
}

/// The stretch on the screen as a link says it, "1.5s..2s"; "": everything, or the newest.
EMSCRIPTEN_KEEPALIVE const char* page_stretch() {
  return page().stretch().c_str();
}

EMSCRIPTEN_KEEPALIVE void page_close() {
  page().close();
}

EMSCRIPTEN_KEEPALIVE void page_resize(float width, float height, float ratio) {
  page().resize(width, height, ratio);
}

EMSCRIPTEN_KEEPALIVE void page_set_theme(bool is_dark) {
  page().set_theme(is_dark);
}

EMSCRIPTEN_KEEPALIVE void page_input(int kind, float x, float y) {
  page().add_input({static_cast<kymo::web::InputKind>(kind), x, y});
}

EMSCRIPTEN_KEEPALIVE bool page_draw() {
  return attempt([] { page().draw(); });
}

EMSCRIPTEN_KEEPALIVE bool page_work() {
  return attempt([] { page().work(); });
}

/// 1: redraw at once; 2: a caret blinks.
EMSCRIPTEN_KEEPALIVE int page_wishes() {
  return (page().is_busy() ? 1 : 0) | (ImGui::GetIO().WantTextInput ? 2 : 0);
}

/// Dear ImGui's number for the pointer's shape.
EMSCRIPTEN_KEEPALIVE int page_cursor() {
  return ImGui::GetMouseCursor();
}

/// The state of the view as JSON (page_state.hpp).
EMSCRIPTEN_KEEPALIVE const char* page_state() {
  return page().describe().c_str();
}
}
