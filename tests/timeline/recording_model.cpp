#include "recording_model.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "capture/write/destination.hpp"
#include "support/memory_destination.hpp"

namespace kymo::test {

namespace {
constexpr unsigned site_count = 12;
constexpr unsigned name_count = 6;
}  // namespace

RecordingModel::RecordingModel(const ModelOptions& options) : options_(options), random_(options.seed) {
  now_ns_ = options_.start_ns;
  truth_.start_ns = now_ns_;
  declare();
  for (unsigned i = 0; i < options_.steps; ++i) {
    step();
    if (below(options_.lags ? 200 : 40) == 0) {
      cut();
    }
  }
  finish();
}

void RecordingModel::declare() {
  for (unsigned i = 0; i < options_.threads; ++i) {
    Thread& thread = threads_.emplace_back();
    thread.track = TrackId::from_index(i);
    thread.name = options_.prefix + "thread " + std::to_string(i);
    thread.now_ns = now_ns_;
    batch_.declarations.tracks.push_back({thread.track, TrackKind::thread, ProcessId{1}, 1000 + i, thread.name});
  }
  async_track_ = TrackId::from_index(options_.threads);
  queue_track_ = TrackId::from_index(options_.threads + 1);
  batch_.declarations.tracks.push_back({async_track_, TrackKind::async, ProcessId{1}, 0, options_.prefix + "requests"});
  batch_.declarations.tracks.push_back({queue_track_, TrackKind::queue, ProcessId{1}, 0, options_.prefix + "gpu"});
  for (unsigned i = 0; i < site_count; ++i) {
    SiteDeclaration site;
    site.id = SiteId{i + 1};
    site.line = 10 * i;
    site.name = options_.prefix + "site " + std::to_string(i);
    site.function = "f" + std::to_string(i);
    site.file = "model.cpp";
    sites_.push_back(site);
  }
  for (unsigned i = 0; i < name_count; ++i) {
    names_.push_back({NameId{i + 1}, options_.prefix + "name " + std::to_string(i)});
  }
  batch_.declarations.sites = sites_;
  batch_.declarations.names = names_;
  batch_.declarations.metrics.push_back(
      {MetricId{1}, MetricKind::gauge, ProcessId{1}, options_.prefix + "load", "1", "", {}});
  batch_.declarations.frame_streams.push_back({FrameStreamId{1}, ProcessId{1}, ""});
  batch_.clock_anchors.push_back({now_ns_, now_ns_ + options_.wall_clock_offset_ns, options_.anchor_bound_ns});
}

ArgumentValue RecordingModel::make_argument(std::string& text_form) {
  const NameDeclaration& name = names_[below(name_count)];
  ArgumentValue value;
  value.name = name.id;
  if (below(2) == 0) {
    value.type = ArgumentType::uint64;
    value.bits = below(1000);
    text_form = name.text + "=" + std::to_string(value.bits);
  } else {
    // One after the other: compilers differ in which of two arguments they work out first.
    const char letter = static_cast<char>('a' + below(26));
    const std::string text(below(9), letter);
    value.type = ArgumentType::string;
    value.bits = batch_.text.size();
    value.text_size = static_cast<std::uint32_t>(text.size());
    batch_.text += text;
    text_form = name.text + "=" + text;
  }
  return value;
}

void RecordingModel::open_scope(Thread& thread) {
  const SiteDeclaration& site = sites_[below(site_count)];
  const auto depth = static_cast<std::uint16_t>(thread.stack.size());
  thread.run.events.push_back({now_ns_, site.id, depth, 0});
  thread.stack.push_back({now_ns_, site.id});
  thread.open.push_back({{thread.name, site.name, now_ns_, 0, 0, depth, false, false, {}}, 0});
  ++thread.sequence;
}

/// Closes the innermost scope, or now and then several at once as an exception does.
void RecordingModel::close_scope(Thread& thread) {
  const bool leaps = thread.stack.size() > 1 && below(12) == 0;
  const std::size_t depth = leaps ? below(thread.stack.size()) : thread.stack.size() - 1;
  const bool is_forced = below(25) == 0;
  thread.run.events.push_back(
      {now_ns_, {}, static_cast<std::uint16_t>(depth), is_forced ? ScopeEvent::forced : std::uint16_t{0}});
  ++thread.sequence;
  while (thread.stack.size() > depth) {
    OpenTruth ended = std::move(thread.open.back());
    thread.open.pop_back();
    thread.stack.pop_back();
    ended.span.end_ns = now_ns_;
    ended.span.self_ns = now_ns_ - ended.span.start_ns - ended.inner_ns;
    ended.span.is_unbalanced = thread.stack.size() > depth || is_forced;
    if (!thread.open.empty()) {
      thread.open.back().inner_ns += now_ns_ - ended.span.start_ns;
    }
    truth_.spans.push_back(std::move(ended.span));
  }
}

void RecordingModel::add_argument(Thread& thread) {
  std::string text_form;
  const ArgumentValue value = make_argument(text_form);
  thread.run.arguments.push_back({static_cast<std::uint32_t>(thread.run.events.size()), value});
  thread.open.back().span.arguments.push_back(text_form);
  ++thread.sequence;
}

/// A span that ended long ago.
void RecordingModel::emit_late_span() {
  const std::int64_t age_ns = static_cast<std::int64_t>(below(200'000));
  SpanEvent span;
  span.track = queue_track_;
  span.name = names_[below(name_count)].id;
  span.category = names_[below(name_count)].id;
  span.start_ns = std::max(now_ns_ - age_ns, options_.start_ns);
  span.duration_ns = std::min<std::int64_t>(static_cast<std::int64_t>(below(30'000)), now_ns_ - span.start_ns);
  TrueSpan truth{options_.prefix + "gpu",
                 names_[span.name.index()].text,
                 span.start_ns,
                 span.start_ns + span.duration_ns,
                 span.duration_ns,
                 0,
                 false,
                 false,
                 {}};
  span.first_argument = static_cast<std::uint32_t>(batch_.span_arguments.size());
  for (std::uint64_t i = below(3); i > 0; --i) {
    std::string text_form;
    batch_.span_arguments.push_back(make_argument(text_form));
    truth.arguments.push_back(text_form);
    ++span.argument_count;
  }
  batch_.spans.push_back(span);
  truth_.spans.push_back(truth);
}

void RecordingModel::step_async() {
  if (open_async_.size() < 4 && below(2) == 0) {
    AsyncBegin begin{async_track_, names_[below(name_count)].id, now_ns_, next_async_id_++};
    open_async_.push_back(begin);
    batch_.async_begins.push_back(begin);
  } else if (!open_async_.empty()) {
    const std::size_t which = below(open_async_.size());
    const AsyncBegin begin = open_async_[which];
    open_async_.erase(open_async_.begin() + static_cast<std::ptrdiff_t>(which));
    SpanEvent span;
    span.track = async_track_;
    span.name = begin.name;
    span.start_ns = begin.time_ns;
    span.duration_ns = now_ns_ - begin.time_ns;
    span.async_id = begin.async_id;
    span.first_argument = static_cast<std::uint32_t>(batch_.span_arguments.size());
    batch_.spans.push_back(span);
    truth_.spans.push_back({options_.prefix + "requests",
                            names_[begin.name.index()].text,
                            begin.time_ns,
                            now_ns_,
                            span.duration_ns,
                            0,
                            false,
                            false,
                            {}});
  }
}

void RecordingModel::step() {
  now_ns_ += static_cast<std::int64_t>(below(40) == 0 ? below(400'000) : below(900));
  Thread& thread = threads_[below(threads_.size())];
  switch (below(12)) {
    case 0:
      emit_late_span();
      break;
    case 1:
      step_async();
      break;
    case 2:
      batch_.frame_marks.push_back({FrameStreamId{1}, threads_[0].track, now_ns_});
      truth_.frame_marks.push_back(now_ns_);
      break;
    case 3: {
      const double value = static_cast<double>(below(1000)) / 8;
      if (batch_.samples.empty()) {
        batch_.samples.push_back({MetricId{1}, {}, {}, {}});
      }
      batch_.samples[0].times_ns.push_back(now_ns_);
      batch_.samples[0].values.push_back(value);
      truth_.samples.emplace_back(now_ns_, value);
      break;
    }
    case 4:
      if (below(4) == 0) {
        const std::string text = "message " + std::to_string(below(100));
        batch_.messages.push_back({thread.track, false, now_ns_, text});
        truth_.messages.emplace_back(now_ns_, text);
      } else if (below(8) == 0) {
        batch_.sync_points.push_back({next_sync_, thread.track, now_ns_});
        truth_.sync_points.emplace_back(now_ns_, next_sync_++);
      }
      break;
    case 5:
      if (!thread.stack.empty()) {
        add_argument(thread);
      }
      break;
    default:
      // Deeper towards the beginning, so that some scopes live through much of the recording.
      if (thread.stack.empty() || (thread.stack.size() < 7 && below(5) < 2)) {
        open_scope(thread);
      } else if (thread.stack.size() > 1 || below(10) == 0) {
        close_scope(thread);
      } else {
        open_scope(thread);
      }
  }
}

void RecordingModel::cut() {
  bool is_first = true;
  const auto extend = [&](std::int64_t time_ns) {
    batch_.start_ns = is_first ? time_ns : std::min(batch_.start_ns, time_ns);
    batch_.end_ns = is_first ? time_ns : std::max(batch_.end_ns, time_ns);
    is_first = false;
  };
  extend(now_ns_);
  for (Thread& thread : threads_) {
    thread.run.track = thread.track;
    thread.run.end_sequence = thread.sequence;
    thread.run.dropped_scopes = thread.track == TrackId{1} ? batches_.size() : 0;
    for (const ScopeEvent& event : thread.run.events) {
      extend(event.time_ns);
    }
    const bool did_anything = thread.run.first_sequence != thread.run.end_sequence;
    if (did_anything || !thread.run.open_at_start.empty()) {
      batch_.runs.push_back(thread.run);
    }
    if (thread.track == TrackId{1} && (did_anything || !thread.run.open_at_start.empty())) {
      truth_.dropped_scopes = thread.run.dropped_scopes;
    }
    thread.run = {};
    thread.run.first_sequence = thread.sequence;
    thread.run.open_at_start = thread.stack;
  }
  for (const SpanEvent& span : batch_.spans) {
    extend(span.start_ns);
  }
  for (const auto& mark : batch_.frame_marks) {
    extend(mark.time_ns);
  }
  for (const auto& begin : batch_.async_begins) {
    extend(begin.time_ns);
  }
  for (const auto& message : batch_.messages) {
    extend(message.time_ns);
  }
  for (const auto& point : batch_.sync_points) {
    extend(point.time_ns);
  }
  for (const SampleRun& run : batch_.samples) {
    for (const std::int64_t time_ns : run.times_ns) {
      extend(time_ns);
    }
  }
  batches_.push_back(std::move(batch_));
  batch_ = EventBatch();
  if (options_.lags) {
    split_last();
  }
}

/// Splits the last batch as a collector does that finds more words than one holds: it takes one thread after another,
/// and names in each batch the threads with open scopes, as far as it has come with them.
void RecordingModel::split_last() {
  EventBatch others = std::move(batches_.back());
  batches_.pop_back();
  const std::vector<ScopeRun> runs = std::exchange(others.runs, {});
  std::vector<ScopeRun> reached = runs;
  for (ScopeRun& run : reached) {
    run.events.clear();
    run.arguments.clear();
    run.end_sequence = run.first_sequence;
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    ScopeRun& run = reached[i];
    auto argument = runs[i].arguments.begin();
    for (std::size_t first = 0; first < runs[i].events.size();) {
      const std::size_t last = std::min<std::size_t>(runs[i].events.size(), first + 1 + below(40));
      EventBatch batch;
      std::copy_if(reached.begin(), reached.end(), std::back_inserter(batch.runs),
                   [&run](const ScopeRun& other) { return other.track != run.track && !other.open_at_start.empty(); });
      batch.text = others.text;
      batch.declarations = std::exchange(others.declarations, {});
      ScopeRun piece = run;
      piece.events.assign(runs[i].events.begin() + static_cast<std::ptrdiff_t>(first),
                          runs[i].events.begin() + static_cast<std::ptrdiff_t>(last));
      for (; argument != runs[i].arguments.end() && argument->position <= last; ++argument) {
        piece.arguments.push_back({argument->position - static_cast<std::uint32_t>(first), argument->value});
      }
      piece.end_sequence += piece.events.size() + piece.arguments.size();
      batch.start_ns = piece.events.front().time_ns;
      batch.end_ns = piece.events.back().time_ns;
      run.first_sequence = run.end_sequence = piece.end_sequence;
      for (const ScopeEvent& event : piece.events) {
        run.open_at_start.resize(event.depth);
        if (event.is_open()) {
          run.open_at_start.push_back({event.time_ns, event.site});
        }
      }
      batch.runs.push_back(std::move(piece));
      batches_.push_back(std::move(batch));
      first = last;
    }
  }
  // What is no scope comes last, in a batch that states the time of that alone.
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const ScopeRun& rest = runs[i].events.empty() ? runs[i] : reached[i];
    if (!rest.open_at_start.empty()) {
      others.runs.push_back(rest);
    }
  }
  others.start_ns = others.end_ns;
  const auto reach_back = [&others](std::int64_t time_ns) { others.start_ns = std::min(others.start_ns, time_ns); };
  for (const SpanEvent& span : others.spans) {
    reach_back(span.start_ns);
  }
  for (const SampleRun& run : others.samples) {
    reach_back(run.times_ns.front());
  }
  const auto reach_all = [&reach_back](const auto& events) {
    for (const auto& event : events) {
      reach_back(event.time_ns);
    }
  };
  reach_all(others.frame_marks);
  reach_all(others.async_begins);
  reach_all(others.messages);
  reach_all(others.sync_points);
  batches_.push_back(std::move(others));
}

void RecordingModel::finish() {
  if (options_.closes_all) {
    for (Thread& thread : threads_) {
      while (!thread.stack.empty()) {
        ++now_ns_;
        close_scope(thread);
      }
    }
  }
  batch_.clock_anchors.push_back({now_ns_, now_ns_ + options_.wall_clock_offset_ns, options_.anchor_bound_ns});
  cut();
  truth_.end_ns = now_ns_;
  for (Thread& thread : threads_) {
    std::int64_t inside_ns = 0;
    for (auto open = thread.open.rbegin(); open != thread.open.rend(); ++open) {
      open->span.end_ns = now_ns_;
      open->span.is_open = true;
      open->span.self_ns = now_ns_ - open->span.start_ns - open->inner_ns - inside_ns;
      inside_ns = now_ns_ - open->span.start_ns;
      truth_.spans.push_back(open->span);
    }
  }
  for (const AsyncBegin& begin : open_async_) {
    truth_.spans.push_back({options_.prefix + "requests",
                            names_[begin.name.index()].text,
                            begin.time_ns,
                            now_ns_,
                            now_ns_ - begin.time_ns,
                            0,
                            true,
                            false,
                            {}});
  }
}

capture::CaptureWriterOptions RecordingModel::writer_options() const {
  capture::CaptureWriterOptions options;
  options.header.recorder = "model";
  options.header.clock_source = "clock_monotonic";
  options.header.clock_step_ns = 1;
  options.header.owner_pid = options_.pid;
  options.declarations.processes.push_back(
      {ProcessId{1}, options_.pid, options_.host, options_.boot_id, "", options_.prefix + "program"});
  options.declarations.infos.push_back({ProcessId{1}, "cpu", "a model"});
  return options;
}

std::vector<std::byte> RecordingModel::write(bool finish) const {
  auto bytes = std::make_shared<std::vector<std::byte>>();
  capture::CaptureWriter writer(std::make_unique<capture::MemoryDestination>(bytes), writer_options());
  for (const EventBatch& batch : batches_) {
    writer.write(batch);
  }
  if (finish) {
    writer.finish();
  }
  return *bytes;
}

std::string RecordingModel::write_file(const std::string& path, bool finish) const {
  capture::CaptureWriter writer(path, writer_options());
  for (const EventBatch& batch : batches_) {
    writer.write(batch);
  }
  if (finish) {
    writer.finish();
  }
  return writer.path();
}

std::vector<TrueSpan> overlapping(const TrueRecording& truth, const std::string& track, std::int64_t start_ns,
                                  std::int64_t end_ns) {
  std::vector<TrueSpan> found;
  for (const TrueSpan& span : truth.spans) {
    const bool is_inside = span.end_ns > start_ns || span.start_ns >= start_ns;
    if (span.track == track && span.start_ns < end_ns && is_inside) {
      found.push_back(span);
    }
  }
  return found;
}

}  // namespace kymo::test
