// Run states: a lane at the top of each thread's title; below all tracks one for each CPU, and for each thread without
// scopes.
#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <utility>

#include "panel/data/time_math.hpp"
#include "panel/draw/text.hpp"
#include "panel/view/panel_view.hpp"

namespace kymo::panel {

namespace {

/// The part of a title's line that its lane has.
constexpr float lane_share = 0.32F;
/// The part of its line that the lane of a thread without scopes has.
constexpr float scopeless_lane_share = 0.8F;

std::string share_text(float share) {
  return value_text(100.0 * static_cast<double>(share), "%");
}

const char* word_of_state(RunState state) {
  return state == RunState::running ? "running" : state == RunState::runnable ? "pushed off the CPU" : "blocked";
}

}  // namespace

std::uint32_t PanelView::lane_lines() const {
  return state_.cpu_group().lines() + state_.scopeless_group().lines();
}

const ThreadDeclaration* PanelView::find_thread(ThreadId id) const {
  const auto& threads = state_.data().provider().declarations().threads;
  const auto is_it = [id](const ThreadDeclaration& thread) { return thread.id == id; };
  // Usually the ids are their places.
  const auto guess =
      threads.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(id.value() - 1, threads.size()));
  const auto found =
      guess != threads.end() && is_it(*guess) ? guess : std::find_if(threads.begin(), threads.end(), is_it);
  return found != threads.end() ? &*found : nullptr;
}

std::string PanelView::thread_title(ThreadId id) const {
  const ThreadDeclaration* const thread = find_thread(id);
  if (thread == nullptr) {
    return "a thread that is not known";
  }
  // The program knows its threads better than the kernel.
  if (const TrackId track = state_.track_of(id)) {
    if (const std::string& name = state_.data().provider().track(track).name; !name.empty()) {
      return clean_text(name);
    }
  }
  return thread->name.empty() ? "thread " + std::to_string(thread->os_thread_id) : clean_text(thread->name);
}

void PanelView::draw_lane(const Area& area, const StateLane& lane, float top, float height) {
  Canvas canvas(ImGui::GetWindowDrawList());
  // Blocked is low, so that the three differ without their colours.
  const std::array<float, 3> heights = {height, height, height / 3};
  const std::array<ImU32, 3> colours = {theme_.good, theme_.bad, theme_.stale};
  for (const bool draws_single : {false, true}) {
    for (const StateBox& box : lane.boxes) {
      float bottom = top + height;
      for (std::size_t state = 0; state < heights.size() && box.is_one == draws_single; ++state) {
        const float of_state = heights[state] * box.shares[state];
        if (of_state > 0) {
          canvas.fill(area.left + std::max(box.left, 0.0F), bottom - of_state,
                      area.left + std::min(box.right, area.width()), bottom, colours[state]);
        }
        bottom -= of_state;
      }
    }
  }
}

void PanelView::draw_states(const Area& area, float line_height) {
  const auto top_of = [&](const StateLane& lane) {
    return area.top + static_cast<float>(lane.line) * line_height - flame_scroll_ + 1;
  };
  for (const StateLane& lane : state_.states().threads) {
    draw_lane(area, lane, top_of(lane), std::floor(line_height * lane_share));
  }
  for (const StateLane& lane : state_.states().scopeless) {
    draw_lane(area, lane, top_of(lane), std::floor(line_height * scopeless_lane_share));
  }
}

void PanelView::draw_cpus(const Area& area, float line_height) {
  Canvas canvas(ImGui::GetWindowDrawList());
  for (const LaneGroup& group : {state_.cpu_group(), state_.scopeless_group()}) {
    const float top = area.top + static_cast<float>(group.line) * line_height - flame_scroll_;
    if (group.lines() != 0) {
      canvas.fill(area.left, top, area.right, top + line_height - 1, theme_.band);
    }
  }
  std::unordered_map<ThreadId, std::pair<std::string, ImU32>> looks;
  for (const StateLane& lane : state_.states().cpus) {
    const float bottom = area.top + static_cast<float>(lane.line + 1) * line_height - flame_scroll_ - 1;
    for (const StateBox& box : lane.boxes) {
      auto& [title, colour] = looks[ThreadId{box.what}];
      if (title.empty()) {
        title = thread_title(ThreadId{box.what});
        colour = names_.colour_of(title);
      }
      const float left = area.left + std::max(box.left, 0.0F);
      const float right = area.left + std::min(box.right, area.width());
      canvas.fill(left, bottom - (line_height - 1) * box.shares[0], right - (right - left > 3 ? 1.0F : 0.0F), bottom,
                  colour);
      if (box.is_one && right - left > ImGui::GetFontSize() * 1.5F) {
        canvas.text(left + 3, bottom - line_height * 0.9F, right - left - 6, theme_.box_text, title);
      }
    }
  }
}

bool PanelView::draw_group_titles(const Area& area, const LaneGroup& group, float line_height, const Pointer& pointer,
                                  const char* tip, const std::function<std::string(std::size_t)>& title_of_lane) {
  Canvas canvas(ImGui::GetWindowDrawList());
  bool is_clicked = false;
  for (std::uint32_t i = 0; i < group.lines(); ++i) {
    const float top = area.top + static_cast<float>(group.line + i) * line_height - flame_scroll_;
    if (top > area.bottom || top + line_height < area.top) {
      continue;
    }
    canvas.text(area.left + (i == 0 ? 2.0F : ImGui::GetFontSize()), top + 1, area.width() - 8, theme_.text,
                i == 0 ? (group.is_folded ? "+ " : "") + title_of_lane(0) : title_of_lane(i));
    if (i == 0 && pointer.is_over && area.top + pointer.y >= top && area.top + pointer.y < top + line_height) {
      show_tip(tip + std::string("\nclick to ") + (group.is_folded ? "show them" : "fold them"));
      is_clicked = pointer.is_clicked;
    }
  }
  return is_clicked;
}

void PanelView::draw_lane_titles(const Area& area, float line_height, const Pointer& pointer) {
  const LaneGroup cpus = state_.cpu_group();
  const LaneGroup scopeless = state_.scopeless_group();
  const auto title_of_cpu = [&](std::size_t line) {
    return line == 0 ? std::string("CPUs") : "CPU " + std::to_string(state_.cpus()[line - 1]);
  };
  const auto title_of_scopeless = [&](std::size_t line) {
    if (line == 0) {
      return "threads without scopes (" + count_text(scopeless.lanes) + ")";
    }
    const ThreadId id = state_.scopeless_threads()[line - 1];
    const ThreadDeclaration* const thread = find_thread(id);
    const bool is_main = thread != nullptr && thread->os_thread_id == thread->pid;
    return is_main ? thread_title(id) + " " + std::to_string(thread->pid) : "  " + thread_title(id);
  };
  if (draw_group_titles(area, cpus, line_height, pointer, "the CPUs that recorded threads ran on, and which of them",
                        title_of_cpu)) {
    state_.fold_cpus(!cpus.is_folded);
  }
  if (draw_group_titles(area, scopeless, line_height, pointer,
                        "what threads did that recorded no scopes; those of a process follow its main thread",
                        title_of_scopeless)) {
    state_.fold_scopeless(!scopeless.is_folded);
  }
}

bool PanelView::use_states(const Pointer& pointer, std::uint32_t line, float line_height) {
  const float place = (pointer.y + flame_scroll_) / line_height - static_cast<float>(line);
  const std::int64_t time_ns = state_.flame().to_time(pointer.pixel);
  if (const StateBox* const box = find_state(state_.states().cpus, line, pointer.pixel); box != nullptr) {
    const std::string title = thread_title(ThreadId{box->what});
    show_tip(box->is_one
                 ? title + "\nran here for " + duration_text(length_between(box->start_ns, box->end_ns))
                 : "recorded threads ran here for " + share_text(box->shares[0]) + " of the time, mostly " + title);
    return true;
  }
  const bool is_scopeless = line >= state_.scopeless_group().line;
  const auto& lanes = is_scopeless ? state_.states().scopeless : state_.states().threads;
  const StateBox* const box =
      is_scopeless || place <= lane_share + 0.05F ? find_state(lanes, line, pointer.pixel) : nullptr;
  if (box == nullptr) {
    return false;
  }
  if (!box->is_one) {
    std::string text;
    for (const RunState state : {RunState::running, RunState::runnable, RunState::blocked}) {
      const float share = box->shares[static_cast<std::size_t>(state)];
      text += share > 0 ? (text.empty() ? "" : ", ") + std::string(word_of_state(state)) + " " + share_text(share) : "";
    }
    show_tip(text + " of the time");
    return true;
  }
  const auto lane = std::find_if(lanes.begin(), lanes.end(), [line](const StateLane& l) { return l.line == line; });
  show_tip(state_text(*box, *lane, time_ns));
  return true;
}

std::string PanelView::state_text(const StateBox& box, const StateLane& lane, std::int64_t time_ns) {
  const RunState state = box.state();
  const std::uint32_t cpu = box.what - 1;
  std::string text = std::string(word_of_state(state)) + " for " +
                     duration_text(length_between(box.start_ns, box.end_ns)) +
                     (state == RunState::running ? ", on CPU " : "; before, on CPU ") + std::to_string(cpu);
  if (state == RunState::runnable) {
    const ThreadId other = thread_on(state_.marks().pieces, cpu, time_ns);
    text += other ? "\nthere ran " + thread_title(other) : "";
  }
  if (state == RunState::blocked) {
    text += lane.track ? blocked_text(lane.track, time_ns) : "";
    const std::vector<ThreadId> threads = lane.track ? state_.threads_of(lane.track) : std::vector{lane.thread};
    if (const auto wake = wake_of(state_.marks().pieces, threads, {box.start_ns, box.end_ns})) {
      text += "\nended by " + thread_title(wake->waker) + ", " +
              duration_text(length_between(wake->time_ns, box.end_ns)) + " before it ran";
    }
  }
  return text;
}

std::string PanelView::blocked_text(TrackId track, std::int64_t time_ns) {
  const FlameRow* innermost = nullptr;
  const FlameBox* scope = nullptr;
  for (const FlameRow& row : state_.flame_layout().rows) {
    for (std::size_t i = 0; row.track == track && !row.named && i < row.boxes.size(); ++i) {
      const FlameBox& box = row.boxes[i];
      if (box.is_one && box.start_ns <= time_ns && time_ns < box.end_ns &&
          (scope == nullptr || row.depth > innermost->depth)) {
        innermost = &row;
        scope = &box;
      }
    }
  }
  if (scope == nullptr) {
    return {};
  }
  const base::SiteOrName what = innermost->what(*scope);
  const SiteDeclaration& site = state_.data().provider().site(base::site_of(what));
  return "\nin " + look_of(what).text + (site.role == SiteRole::wait ? "\n" + holder_text(site.function) : "");
}

}  // namespace kymo::panel
