#include "exchange/import/replay.hpp"

#include <algorithm>
#include <cstring>

namespace kymo::exchange {
namespace {

constexpr std::size_t most_depth = 10'000;
constexpr std::size_t most_open = std::size_t{1} << 21U;
constexpr std::size_t most_waiting = 1024;
constexpr std::size_t most_open_async_bytes = std::size_t{128} << 20U;
// The size of a batch: a reader of the capture decodes a batch at once.
constexpr std::size_t full_batch = std::size_t{1} << 17U;
constexpr const char* overlapping = "spans that overlap others of their thread, which are on a track of their own";
constexpr std::size_t text_weight = 16;  // bytes of text that count as one event

}  // namespace

ImportReplay::ImportReplay(Declarations declarations, const ImportTables& tables, NameId category_name,
                           ImportReport& report, ImportLosses& losses, Write write)
    : tables_(tables), category_name_(category_name), report_(report), losses_(losses), write_(std::move(write)) {
  tracks_.resize(declarations.tracks.size());
  for (const TrackDeclaration& track : declarations.tracks) {
    tracks_[track.id.index()].declaration = track;
  }
  batch_.declarations = std::move(declarations);
}

void ImportReplay::note_time(std::int64_t time_ns) {
  if (!has_time_) {
    has_time_ = true;
    batch_.start_ns = time_ns;
    batch_.end_ns = time_ns;
  }
  batch_.start_ns = std::min(batch_.start_ns, time_ns);
  batch_.end_ns = std::max(batch_.end_ns, time_ns);
  ++batch_size_;
}

void ImportReplay::add(const ImportRecord& record) {
  const ImportRecord::Head& head = record.head;
  if (head.time_ns != now_ns_) {
    for (const TrackId track : waiting_tracks_) {
      open_waiting(track);
    }
    waiting_tracks_.clear();
    if (batch_size_ >= full_batch) {
      flush();
    }
    now_ns_ = head.time_ns;
  }
  switch (head.kind) {
    case ImportRecord::Kind::complete: {
      Track& track = tracks_[head.track.index()];
      ++report_.spans;
      if (track.declaration.kind == TrackKind::queue) {
        add_to_queue(head.track, record);
        break;
      }
      if (track.waiting.empty()) {
        waiting_tracks_.push_back(head.track);
      }
      track.waiting.push_back(record);
      ++batch_size_;
      if (track.waiting.size() >= most_waiting) {
        open_waiting(head.track);
      }
      break;
    }
    case ImportRecord::Kind::begin:
      open_waiting(head.track);
      close_until(head.track, head.time_ns);
      if (has_room(tracks_[head.track.index()])) {
        open(head.track, record, false);
        ++report_.spans;
      } else {
        ++tracks_[head.track.index()].deep_begins;
        losses_.damage("spans more than 10,000 deep that have no duration of their own");
      }
      break;
    case ImportRecord::Kind::end:
      end(record);
      break;
    case ImportRecord::Kind::async_begin:
      begin_async(record);
      break;
    case ImportRecord::Kind::async_end:
      end_async(record);
      break;
    case ImportRecord::Kind::async_step:
      step_async(record);
      break;
    case ImportRecord::Kind::frame:
      add_frame(record);
      break;
    case ImportRecord::Kind::sample:
      add_sample(record);
      break;
    case ImportRecord::Kind::message:
      note_time(head.time_ns);
      batch_size_ += record.text.size() / text_weight;
      batch_.messages.push_back({head.track, head.detail != 0, head.time_ns, record.text});
      ++report_.messages;
      break;
    case ImportRecord::Kind::flow:
      note_time(head.time_ns);
      batch_.flows.push_back({head.track, static_cast<FlowPhase>(head.detail), head.time_ns, head.id});
      ++report_.flow_points;
      break;
    case ImportRecord::Kind::sync_point:
      note_time(head.time_ns);
      batch_.sync_points.push_back({head.id, head.track, head.time_ns});
      ++report_.sync_points;
      break;
    case ImportRecord::Kind::dropped: {
      Track& track = tracks_[head.track.index()];
      track.dropped_scopes = std::max(track.dropped_scopes, head.id);
      track.dropped_others = std::max(track.dropped_others, static_cast<std::uint64_t>(head.duration_ns));
      ScopeRun& run = run_of(track, head.track);
      run.dropped_scopes = track.dropped_scopes;
      run.dropped_others = track.dropped_others;
      note_time(head.time_ns);
      break;
    }
  }
}

ScopeRun& ImportReplay::run_of(Track& track, TrackId id) {
  if (track.run == 0) {
    ScopeRun& run = batch_.runs.emplace_back();
    run.track = id;
    run.first_sequence = track.sequence;
    run.end_sequence = track.sequence;
    run.dropped_scopes = track.dropped_scopes;
    run.dropped_others = track.dropped_others;
    run.open_at_start.reserve(track.levels.size());
    for (const Level& level : track.levels) {
      run.open_at_start.push_back({level.start_ns, level.site});
    }
    track.run = batch_.runs.size();
  }
  return batch_.runs[track.run - 1];
}

void ImportReplay::push(ScopeRun& run, const ScopeEvent& event) {
  note_time(event.time_ns);
  run.events.push_back(event);
  ++run.end_sequence;
  ++tracks_[run.track.index()].sequence;
}

void ImportReplay::close_innermost(TrackId id, std::int64_t time_ns, std::uint16_t flags) {
  Track& track = tracks_[id.index()];
  ScopeRun& run = run_of(track, id);
  push(run, {time_ns, SiteId{}, static_cast<std::uint16_t>(track.levels.size() - 1), flags});
  track.levels.pop_back();
  --open_levels_;
}

void ImportReplay::close_until(TrackId id, std::int64_t time_ns) {
  Track& track = tracks_[id.index()];
  while (!track.levels.empty()) {
    const std::uint32_t level = track.levels.back().complete_level;
    if (level == no_level || track.levels[level].end_ns > time_ns) {
      return;
    }
    const std::int64_t end_ns = track.levels[level].end_ns;
    while (track.levels.size() > level + 1) {
      losses_.damage("ends of spans that began within one that ended before them");
      ++track.cut_begins;
      close_innermost(id, end_ns, ScopeEvent::forced);
    }
    close_innermost(id, end_ns, 0);
  }
}

bool ImportReplay::has_room(const Track& track) const {
  return track.levels.size() < most_depth && open_levels_ < most_open;
}

void ImportReplay::open_waiting(TrackId id) {
  for (std::size_t i = 0; i < tracks_[id.index()].waiting.size(); ++i) {
    // Its address is stable when tracks are added.
    const ImportRecord& record = tracks_[id.index()].waiting[i];
    close_until(id, record.head.time_ns);
    const Track& track = tracks_[id.index()];
    const std::int64_t end_ns = record.head.time_ns + record.head.duration_ns;
    const std::uint32_t around = track.levels.empty() ? no_level : track.levels.back().complete_level;
    if (around != no_level && end_ns > track.levels[around].end_ns) {
      losses_.ignore(overlapping);
      add_beside(id, record);
    } else if (!has_room(track)) {
      losses_.ignore("spans more than 10,000 deep, which are on a track of their own");
      add_beside(id, record);
    } else {
      open(id, record, true);
    }
  }
  tracks_[id.index()].waiting.clear();
}

void ImportReplay::open(TrackId id, const ImportRecord& record, bool is_complete) {
  Track& track = tracks_[id.index()];
  ScopeRun& run = run_of(track, id);
  const auto depth = static_cast<std::uint32_t>(track.levels.size());
  push(run, {record.head.time_ns, SiteId{record.head.what}, static_cast<std::uint16_t>(depth), 0});
  const std::uint32_t around = track.levels.empty() ? no_level : track.levels.back().complete_level;
  track.levels.push_back({record.head.time_ns, is_complete ? record.head.time_ns + record.head.duration_ns : 0,
                          SiteId{record.head.what}, is_complete, is_complete ? depth : around});
  ++open_levels_;
  if (record.head.category != 0) {
    const std::string& category = tables_.category_text(NameId{record.head.category});
    ArgumentValue value{category_name_, ArgumentType::string, false, static_cast<std::uint32_t>(category.size()), 0};
    run.arguments.push_back({static_cast<std::uint32_t>(run.events.size()), move_text(value, category)});
  }
  add_scope_arguments(run, record);
}

void ImportReplay::end(const ImportRecord& record) {
  const TrackId id = record.head.track;
  Track& track = tracks_[id.index()];
  // Waiting spans began at this time. They end here only if their duration is zero.
  close_until(id, record.head.time_ns);
  if (track.deep_begins > 0) {
    --track.deep_begins;
    return;
  }
  std::size_t level = track.levels.size();
  while (level > 0 && track.levels[level - 1].is_complete) {
    --level;
  }
  if (level == 0 && track.cut_begins > 0) {
    --track.cut_begins;
    return;
  }
  if (level == 0) {
    losses_.damage("ends of spans that did not begin");
    return;
  }
  while (track.levels.size() > level) {
    losses_.damage("spans that are cut short by the end of the one around them");
    close_innermost(id, record.head.time_ns, ScopeEvent::forced);
  }
  add_scope_arguments(run_of(track, id), record);
  close_innermost(id, record.head.time_ns, 0);
}

ArgumentValue ImportReplay::move_text(ArgumentValue value, const std::string& text) {
  if (value.type == ArgumentType::string) {
    const auto begin = static_cast<std::size_t>(value.bits);
    value.bits = batch_.text.size();
    batch_.text.append(text, begin, value.text_size);
    batch_size_ += value.text_size / text_weight;
  }
  ++batch_size_;
  return value;
}

void ImportReplay::add_scope_arguments(ScopeRun& run, const ImportRecord& record) {
  for (const ArgumentValue& value : record.arguments) {
    run.arguments.push_back({static_cast<std::uint32_t>(run.events.size()), move_text(value, record.text)});
  }
}

void ImportReplay::append_arguments(const std::vector<ArgumentValue>& arguments, const std::string& text) {
  for (const ArgumentValue& value : arguments) {
    batch_.span_arguments.push_back(move_text(value, text));
  }
}

void ImportReplay::add_span(SpanEvent span, const ImportRecord& record, const OpenAsync* begin) {
  note_time(span.start_ns);
  note_time(span.start_ns + span.duration_ns);
  span.first_argument = static_cast<std::uint32_t>(batch_.span_arguments.size());
  if (begin != nullptr) {
    append_arguments(begin->arguments, begin->text);
  }
  append_arguments(record.arguments, record.text);
  span.argument_count = static_cast<std::uint32_t>(batch_.span_arguments.size()) - span.first_argument;
  batch_.spans.push_back(span);
}

void ImportReplay::add_beside(TrackId id, const ImportRecord& record) {
  if (!tracks_[id.index()].beside) {
    TrackDeclaration beside = tracks_[id.index()].declaration;
    beside.id = TrackId::from_index(tracks_.size());
    beside.kind = TrackKind::queue;
    const std::string name = beside.name.empty() ? "thread " + std::to_string(beside.os_thread_id) : beside.name;
    beside.name = name + " (overlapping)";
    beside.os_thread_id = 0;
    tracks_[id.index()].beside = beside.id;
    batch_.declarations.tracks.push_back(beside);
    tracks_.emplace_back().declaration = beside;
  }
  add_to_queue(tracks_[id.index()].beside, record);
}

void ImportReplay::add_to_queue(TrackId id, const ImportRecord& record) {
  SpanEvent span;
  span.track = id;
  span.name = tables_.name_of_site(SiteId{record.head.what});
  span.category = NameId{record.head.category};
  span.start_ns = record.head.time_ns;
  span.duration_ns = record.head.duration_ns;
  add_span(span, record, nullptr);
}

void ImportReplay::begin_async(const ImportRecord& record) {
  const std::size_t size =
      sizeof(OpenAsync) + 64 + record.arguments.size() * sizeof(ArgumentValue) + record.text.size();
  if (open_async_size_ + size > most_open_async_bytes) {
    losses_.damage("async spans beyond those that can be open at once");
    return;
  }
  open_async_size_ += size;
  open_async_[{record.head.track, record.head.id}].push_back(
      {NameId{record.head.what}, record.head.time_ns, record.arguments, record.text, false, record.head.time_ns});
  ++report_.spans;
}

void ImportReplay::step_async(const ImportRecord& record) {
  const auto place = open_async_.find({record.head.track, record.head.id});
  if (place == open_async_.end()) {
    losses_.damage("steps of async spans that did not begin");
    return;
  }
  std::vector<OpenAsync>& opens = place->second;
  if (record.head.detail == 0) {
    end_step(opens, record.head);
    const std::size_t count = opens.size();
    begin_async(record);
    opens.back().is_step = opens.size() > count;
    return;
  }
  OpenAsync& around = opens.back();
  SpanEvent span;
  span.track = record.head.track;
  span.name = NameId{record.head.what};
  span.start_ns = around.step_ns;
  span.duration_ns = record.head.time_ns - around.step_ns;
  span.async_id = ++last_async_id_;
  add_span(span, record, nullptr);
  around.step_ns = record.head.time_ns;
  ++report_.spans;
}

void ImportReplay::end_async(const ImportRecord& record) {
  const auto place = open_async_.find({record.head.track, record.head.id});
  if (place == open_async_.end()) {
    losses_.damage("ends of async spans that did not begin");
    return;
  }
  end_step(place->second, record.head);
  end_innermost(place->second, record);
  if (place->second.empty()) {
    open_async_.erase(place);
  }
}

void ImportReplay::end_step(std::vector<OpenAsync>& opens, const ImportRecord::Head& head) {
  if (opens.back().is_step) {
    end_innermost(opens, {head, {}, {}});
  }
}

void ImportReplay::end_innermost(std::vector<OpenAsync>& opens, const ImportRecord& record) {
  const OpenAsync begin = std::move(opens.back());
  opens.pop_back();
  open_async_size_ -= sizeof(OpenAsync) + 64 + begin.arguments.size() * sizeof(ArgumentValue) + begin.text.size();
  SpanEvent span;
  span.track = record.head.track;
  span.name = begin.name;
  span.start_ns = begin.start_ns;
  span.duration_ns = record.head.time_ns - begin.start_ns;
  span.async_id = ++last_async_id_;
  add_span(span, record, &begin);
}

void ImportReplay::mark_frame(FrameStreamId stream, TrackId track, std::int64_t time_ns) {
  note_time(time_ns);
  batch_.frame_marks.push_back({stream, track, time_ns});
}

void ImportReplay::add_frame(const ImportRecord& record) {
  const auto [place, is_first] = open_frames_.try_emplace(FrameStreamId{record.head.what});
  OpenFrame& frame = place->second;
  if (!is_first && frame.end_ns > record.head.time_ns) {
    losses_.damage("frames that begin before the one before them has ended");
    return;
  }
  if (!is_first && frame.end_ns != record.head.time_ns) {
    mark_frame(FrameStreamId{record.head.what}, frame.track, frame.end_ns);
  }
  mark_frame(FrameStreamId{record.head.what}, record.head.track, record.head.time_ns);
  frame = {record.head.time_ns + record.head.duration_ns, record.head.track};
  ++report_.frames;
}

void ImportReplay::add_sample(const ImportRecord& record) {
  note_time(record.head.time_ns);
  const auto [place, is_new] = sample_runs_.try_emplace(MetricId{record.head.what}, batch_.samples.size());
  if (is_new) {
    batch_.samples.emplace_back().metric = MetricId{record.head.what};
  }
  SampleRun& run = batch_.samples[place->second];
  double value = 0;
  static_assert(sizeof value == sizeof record.head.id);
  std::memcpy(&value, &record.head.id, sizeof value);
  run.times_ns.push_back(record.head.time_ns);
  run.values.push_back(value);
  ++report_.samples;
}

void ImportReplay::flush() {
  for (Track& track : tracks_) {
    close_until(track.declaration.id, now_ns_);
    if (!track.levels.empty()) {
      run_of(track, track.declaration.id);
    }
  }
  write_batch();
}

void ImportReplay::write_batch() {
  if (!has_time_ && now_ns_ != std::numeric_limits<std::int64_t>::min()) {
    note_time(now_ns_);
  }
  if (base_realtime_ns_ != 0 && has_time_) {
    batch_.clock_anchors.push_back({batch_.start_ns, base_realtime_ns_ + batch_.start_ns, 0});
  }
  write_(batch_);
  batch_ = EventBatch();
  batch_size_ = 0;
  has_time_ = false;
  sample_runs_.clear();
  for (Track& track : tracks_) {
    track.run = 0;
  }
}

void ImportReplay::finish() {
  for (const TrackId track : waiting_tracks_) {
    open_waiting(track);
  }
  for (const Track& track : tracks_) {
    close_until(track.declaration.id, std::numeric_limits<std::int64_t>::max());
    for (const Level& level : track.levels) {
      losses_.damage("ends of spans, which are open to the end of the capture", level.site ? 1 : 0);
    }
  }
  for (const auto& [stream, frame] : open_frames_) {
    mark_frame(stream, frame.track, frame.end_ns);
  }
  for (const auto& [key, opens] : open_async_) {
    for (const OpenAsync& open : opens) {
      losses_.damage("ends of spans, which are open to the end of the capture");
      note_time(open.start_ns);
      batch_.async_begins.push_back({key.first, open.name, open.start_ns, ++last_async_id_});
    }
  }
  flush();
}

}  // namespace kymo::exchange
