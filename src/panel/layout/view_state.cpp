// The state of the panel and the actions on it.
#include "panel/layout/view_state.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "panel/data/time_math.hpp"
#include "timeline/display_order.hpp"

namespace kymo::panel {

namespace {

TimeRange range_of(const Frame& frame) {
  return {frame.start_ns, add_length(frame.start_ns, std::max(frame.duration_ns, TimeAxis::least_length_ns))};
}

/// The range of a length about its middle.
TimeRange range_about(std::int64_t middle_ns, std::int64_t length_ns) {
  return {middle_ns - length_ns / 2, middle_ns + (length_ns - length_ns / 2)};
}

/// Without frames, the newest stretch of this length is shown.
constexpr std::int64_t latest_stretch_ns = 100'000'000;

}  // namespace

ViewState::ViewState(std::shared_ptr<BlockProvider> provider, const DataOptions& options)
    : data_(std::move(provider), options), follows_(data_.provider().is_live()), tracks_([this](TrackId track) {
        const BlockProvider& blocks = data_.provider();
        return timeline::track_rank(blocks.track(track), blocks.declarations().processes);
      }) {
  overview_.set_bounds(data_.range());
  flame_.set_bounds(data_.range());
}

void ViewState::begin_frame() {
  data_.poll();
  const bool was_at_end = overview_.range().end_ns >= overview_.data().end_ns;
  const std::int64_t length = overview_.length_ns();
  const bool showed_all = overview_.shows_all();
  set_room(room_);
  if (follows()) {
    if (was_at_end && !showed_all) {
      overview_.show({overview_.data().end_ns - length, overview_.data().end_ns});
    }
    follow();
  }
  resolve_number();
  resolve_pin();
  take_found();
}

void ViewState::set_room(const std::optional<TimeRange>& room) {
  room_ = room;
  overview_.set_bounds(data_.range(), room_);
  flame_.set_bounds(data_.range(), room_);
}

void ViewState::follow() {
  // Requests the newest block's spans together with its frames, not one screen frame later.
  const std::int64_t newest_ns = data_.range().end_ns;
  static_cast<void>(data_.pieces({newest_ns, newest_ns}, {Asker::pin, true}));
  const std::optional<Frame> latest = frame_bars(least_bar_pixels).latest;
  if (latest && latest->duration_ns > 0) {
    flame_.show(range_of(*latest));
  } else {
    const TimeRange all = data_.range();
    flame_.show(
        {std::max(all.start_ns, all.end_ns - std::min(latest_stretch_ns, length_between(all.start_ns, all.end_ns))),
         all.end_ns});
  }
}

void ViewState::pause() {
  is_paused_ = true;
  data_.set_frozen(true);
}

void ViewState::resume() {
  is_paused_ = false;
  data_.set_frozen(false);
  pinned_.reset();
  pin_wish_.reset();
  follows_ = data_.provider().is_live();
  if (!follows_) {
    flame_.fit();
  }
}

void ViewState::follow_newest() {
  resume();
  follows_ = data_.provider().is_live();
  overview_.show({overview_.data().end_ns - overview_.length_ns(), overview_.data().end_ns});
}

void ViewState::choose_next_stream() {
  const auto& streams = data_.provider().declarations().frame_streams;
  const FrameStreamId shown = stream();
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (streams[i].id == shown) {
      choose_stream(streams[(i + 1) % streams.size()].id);
      return;
    }
  }
}

FrameStreamId ViewState::stream() const {
  if (stream_) {
    return stream_;
  }
  const auto& streams = data_.provider().declarations().frame_streams;
  for (const FrameStreamDeclaration& stream : streams) {
    if (stream.name.empty()) {
      return stream.id;
    }
  }
  return streams.empty() ? FrameStreamId{} : streams.front().id;
}

void ViewState::pin(const Frame& frame) {
  pin_out_of_view(frame);
  flame_.show(range_of(frame));
}

void ViewState::pin_out_of_view(const std::optional<Frame>& frame) {
  pause();
  pin_wish_.reset();
  pinned_ = frame;
}

void ViewState::wish(const PinWish& pin) {
  pause();
  pin_wish_ = pin;
  resolve_pin();
}

void ViewState::pin_longest(TimeRange range) {
  wish({range, false, false});
}

void ViewState::pin_bar(const FrameBar& bar) {
  if (bar.longest.is_known) {
    pin(bar.longest.frame);
  } else {
    flame_.show(bar.longest.among);
    wish({bar.longest.among, true, false});
  }
}

void ViewState::pin_at(std::int64_t time_ns) {
  constexpr std::int64_t before_ns = latest_stretch_ns / 2;
  const std::int64_t start_ns = std::max(time_ns, std::numeric_limits<std::int64_t>::min() + before_ns) - before_ns;
  flame_.show({start_ns, add_length(time_ns, before_ns)});
  wish({{time_ns, add_length(time_ns, 1)}, true, false});
}

void ViewState::pin_number(FrameNumber number) {
  pause();
  number_wish_ = NumberWish{number, data_.range()};
}

void ViewState::resolve_number() {
  // Where the frame ends, by bisection: the first time up to which one more has begun. A mark before lost events has
  // the number of the first frame behind them.
  while (number_wish_) {
    auto& [number, range] = *number_wish_;
    const std::int64_t middle_ns = range.start_ns + length_between(range.start_ns, range.end_ns) / 2;
    const auto begun = data_.frame_number(stream(), middle_ns, Asker::wanted_number);
    if (!begun && data_.is_busy()) {
      return;  // until it is read
    }
    if (range.start_ns < range.end_ns) {
      const bool is_behind = begun.value_or(0) > number;
      (is_behind ? range.end_ns : range.start_ns) = is_behind ? middle_ns : middle_ns + 1;
      continue;
    }
    if (number != 0 && begun == number + 1) {
      pin_at(std::max(middle_ns, std::numeric_limits<std::int64_t>::min() + 1) - 1);
    }
    number_wish_.reset();
  }
}

void ViewState::resolve_pin() {
  if (!pin_wish_) {
    return;
  }
  const FrameCover frames = data_.frames(stream(), pin_wish_->range, Asker::pin);
  if (!frames.is_complete()) {
    return;
  }
  const std::optional<LongestFrame> found = longest_frame(frames, pin_wish_->range);
  if (found && !found->is_known &&
      length_between(found->among.start_ns, found->among.end_ns) <
          length_between(pin_wish_->range.start_ns, pin_wish_->range.end_ns)) {
    pin_wish_->range = found->among;  // a shorter range is read from blocks
    return;
  }
  const PinWish wish = *std::exchange(pin_wish_, std::nullopt);
  if (!found) {
    if (!wish.is_followed) {
      pinned_.reset();  // else the pinned frame is the first or the last
    }
    return;
  }
  pinned_ = found->frame;
  const TimeRange shown = range_of(found->frame);
  if (wish.is_shown) {
    flame_.show(shown);
  }
  const TimeRange seen = overview_.range();
  if (wish.is_followed && (shown.start_ns < seen.start_ns || shown.end_ns > seen.end_ns)) {
    overview_.show(range_about(shown.start_ns, overview_.length_ns()));
  }
}

void ViewState::step_frame(bool forward) {
  if (!pinned_) {
    if (const auto latest = frame_bars(least_bar_pixels).latest) {
      pin(*latest);
    }
    return;
  }
  // The moment next to the frame is in its neighbour.
  const std::int64_t end_ns = add_length(pinned_->start_ns, pinned_->duration_ns);
  const std::int64_t first_ns =
      forward || pinned_->start_ns == std::numeric_limits<std::int64_t>::min() ? end_ns : pinned_->start_ns - 1;
  wish({{first_ns, add_length(first_ns, 1)}, true, true});
}

void ViewState::zoom_to(TimeRange range) {
  overview_.show(range);
  flame_.show(range);
  pin_longest(range);
}

void ViewState::zoom_to_measured() {
  if (measured_ && measured_->start_ns < measured_->end_ns) {
    zoom_to(*measured_);
  }
}

void ViewState::reset_flame() {
  if (pinned_) {
    flame_.show(range_of(*pinned_));
  } else {
    flame_.fit();
  }
}

void ViewState::select(const SpanKey& key) {
  selected_ = key;
  message_.reset();
  if (const auto* const site = std::get_if<SiteId>(&key.what)) {
    mark_site(*site);
  }
  data_.ask_for_span(key);
}

void ViewState::deselect() {
  selected_.reset();
  message_.reset();
  measured_.reset();
  mark_site(SiteId{});
  marked_frames_ = {};
  marked_functions_.clear();
  lit_.clear();
}

void ViewState::light(std::vector<Instance> instances) {
  lit_ = std::move(instances);
  const bool is_in_view = std::any_of(lit_.begin(), lit_.end(), [this](const Instance& one) {
    return overlaps(one.start_ns, one.end_ns(), flame_.range());
  });
  if (!lit_.empty() && !is_in_view) {
    hold();
    const std::int64_t around_ns = lit_.front().duration_ns / 4;
    flame_.show({lit_.front().start_ns - around_ns, add_length(lit_.front().end_ns(), around_ns)});
  }
}

void ViewState::choose_message(const MessageMark& mark) {
  choose_message({mark.first->time_ns, mark.first->track, mark.count, mark.first->text, mark.first->is_cut});
}

void ViewState::choose_message(ChosenMessage message) {
  selected_.reset();
  message_ = std::move(message);
}

void ViewState::step_message(bool forward) {
  const auto is_before = [](const MessageMark& a, std::int64_t time_ns, TrackId track) {
    return std::tie(a.first->time_ns, a.first->track) < std::tie(time_ns, track);
  };
  const MessageMark* best = nullptr;
  for (const MessageMark& mark : mark_layout_.messages) {
    const bool is_past = message_ && is_before(mark, message_->time_ns, message_->track);
    const bool is_chosen = message_ && mark.first->time_ns == message_->time_ns && mark.first->track == message_->track;
    if (is_chosen || (message_ && is_past == forward)) {
      continue;
    }
    if (best == nullptr || is_before(mark, best->first->time_ns, best->first->track) == forward) {
      best = &mark;
    }
  }
  if (best != nullptr) {
    choose_message(*best);
  }
}

void ViewState::select_neighbour(Neighbour which) {
  const auto found = selected_ ? find_neighbour(flame_layout_, *selected_, which)
                               : find_closest_span(flame_layout_, flame_.to_time(flame_.width() / 2));
  if (found) {
    select(*found);
  }
}

void ViewState::jump(bool forward) {
  if (!marked_site_) {
    return;
  }
  const bool from_selected = selected_ && selected_->what == base::SiteOrName(marked_site_);
  const std::int64_t from_ns = from_selected ? selected_->start_ns : flame_.range().start_ns;
  pause();
  data_.ask_for_site(marked_site_, from_ns, forward);
  has_jumped_in_vain_ = false;
}

void ViewState::take_found() {
  const auto found = data_.take_found();
  if (!found) {
    return;
  }
  has_jumped_in_vain_ = !found->is_found;
  if (!found->is_found) {
    return;
  }
  select(found->key);
  show_span(found->key);
}

void ViewState::show_span(const SpanKey& key) {
  const TimeRange seen = flame_.range();
  if (key.start_ns < seen.start_ns || key.end_ns > seen.end_ns) {
    const std::int64_t span_ns = length_between(key.start_ns, key.end_ns);
    const std::int64_t length = std::max(flame_.length_ns(), add_length(span_ns, span_ns / 4));
    flame_.show(range_about(key.start_ns + span_ns / 2, length));
  }
}

void ViewState::go_to(const SpanKey& key) {
  hold();
  select(key);
  // Among its surroundings: a twentieth of the width or more is its own.
  const std::int64_t span_ns = std::max(length_between(key.start_ns, key.end_ns), TimeAxis::least_length_ns);
  if (flame_.length_ns() / 20 > span_ns) {
    flame_.show({key.start_ns - 5 * span_ns, add_length(key.start_ns, 6 * span_ns)});
  } else {
    show_span(key);
  }
}

void ViewState::go_to(std::int64_t time_ns) {
  hold();
  const TimeRange seen = flame_.range();
  if (time_ns < seen.start_ns || time_ns >= seen.end_ns) {
    flame_.show(range_about(time_ns, flame_.length_ns()));
  }
}

void ViewState::remember_view(TimeRange flame, TimeRange overview) {
  constexpr std::size_t most_views = 200;
  const auto is_known = [&](std::size_t place) { return place < views_.size() && is_same(views_[place].flame, flame); };
  // What was just gone back or forward from is there already.
  for (const std::size_t place : {view_ - 1, view_ - 2, view_}) {
    if (is_known(place)) {
      views_[place].overview = overview;
      return;
    }
  }
  if (is_everything(flame)) {
    return;
  }
  views_.resize(view_);  // what was gone back from
  if (views_.size() == most_views) {
    views_.erase(views_.begin());
  }
  views_.push_back({flame, overview});
  view_ = views_.size();
}

void ViewState::show_view(const View& view) {
  hold();
  flame_.show(view.flame);
  overview_.show(view.overview);
}

void ViewState::go_back() {
  remember_view(flame_.range(), overview_.range());
  if (view_ > 1) {
    --view_;
    show_view(views_[view_ - 1]);
  }
}

void ViewState::go_forward() {
  if (view_ < views_.size()) {
    ++view_;
    show_view(views_[view_ - 1]);
  }
}

void ViewState::measure_selected() {
  if (selected_ && selected_->end_ns > selected_->start_ns) {
    measured_ = TimeRange{selected_->start_ns, selected_->end_ns};
  }
}

void ViewState::bookmark() {
  const std::int64_t origin_ns = data_.range().start_ns;
  notes_.add(
      {length_between(origin_ns, flame_.range().start_ns), length_between(origin_ns, flame_.range().end_ns), "a view"});
}

TimeRange ViewState::table_range() const {
  if (measured_ && measured_->end_ns > measured_->start_ns) {
    return *measured_;
  }
  return pinned_ ? TimeRange{pinned_->start_ns,
                             add_length(pinned_->start_ns, std::max<std::int64_t>(pinned_->duration_ns, 1))}
                 : TimeRange{};
}

}  // namespace kymo::panel
