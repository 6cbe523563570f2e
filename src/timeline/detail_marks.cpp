// Events of a block at points in time: messages, flows, sync points, samples of stacks.
#include <algorithm>
#include <map>
#include <utility>

#include "timeline/detail_parts.hpp"

namespace kymo::timeline {

namespace {

template <typename Mark>
bool is_earlier(const Mark& a, const Mark& b) {
  return a.time_ns < b.time_ns;
}

void take_messages(const EventBatch& batch, Detail& out) {
  std::map<TrackId, std::vector<const Message*>> by_track;
  for (const Message& message : batch.messages) {
    by_track[message.track].push_back(&message);
  }
  const std::size_t together = batch.messages.size() / Detail::most_marks + 1;
  for (auto& [track, messages] : by_track) {
    std::stable_sort(messages.begin(), messages.end(),
                     [](const Message* a, const Message* b) { return a->time_ns < b->time_ns; });
    for (std::size_t i = 0; i < messages.size() && out.messages.size() < Detail::most_marks; i += together) {
      DetailMessage& mark = out.messages.emplace_back();
      mark.time_ns = messages[i]->time_ns;
      mark.track = track;
      mark.count = static_cast<std::uint32_t>(std::min(together, messages.size() - i));
      mark.is_cut = messages[i]->is_cut || messages[i]->text.size() > DetailMessage::most_bytes;
      mark.text = messages[i]->text.substr(0, DetailMessage::most_bytes);
    }
  }
  std::stable_sort(out.messages.begin(), out.messages.end(), is_earlier<DetailMessage>);
}

/// Spreads ascending ids.
std::uint64_t mixed(std::uint64_t id) {
  id ^= id >> 31U;
  id *= 0x9E3779B97F4A7C15U;
  return id ^ (id >> 29U);
}

void take_flows(const EventBatch& batch, Detail& out) {
  // Flows are selected by id, so that the selected ones are complete in every block.
  std::uint64_t mask = 0;
  while (batch.flows.size() / (mask + 1) > Detail::most_marks / 2 && mask + 1 != 0) {
    mask = 2 * mask + 1;
  }
  for (const FlowEvent& flow : batch.flows) {
    if ((mixed(flow.flow_id) & mask) == 0 && out.flows.size() < Detail::most_marks) {
      out.flows.push_back(flow);
    }
  }
  std::stable_sort(out.flows.begin(), out.flows.end(), is_earlier<FlowEvent>);
}

void take_stack_samples(const EventBatch& batch, Detail& out) {
  const std::size_t step = batch.stack_samples.size() / Detail::most_marks + 1;
  for (std::size_t i = 0; i < batch.stack_samples.size(); i += step) {
    out.stack_samples.push_back(batch.stack_samples[i]);
  }
  std::stable_sort(out.stack_samples.begin(), out.stack_samples.end(), is_earlier<StackSample>);
}

}  // namespace

void take_marks(const EventBatch& batch, Detail& out) {
  take_messages(batch, out);
  take_flows(batch, out);
  take_stack_samples(batch, out);
  out.sync_points.assign(
      batch.sync_points.begin(),
      batch.sync_points.begin() + static_cast<std::ptrdiff_t>(std::min(batch.sync_points.size(), Detail::most_marks)));
  std::stable_sort(out.sync_points.begin(), out.sync_points.end(), is_earlier<SyncPoint>);
}

}  // namespace kymo::timeline
