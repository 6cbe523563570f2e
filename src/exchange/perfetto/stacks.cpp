#include "exchange/perfetto/stacks.hpp"

#include <algorithm>

#include "base/text/json_text.hpp"

namespace kymo::exchange {

using perfetto::CallstackField;
using perfetto::FrameField;
using perfetto::InternedField;
using perfetto::InternedTextField;
using perfetto::MappingField;
using perfetto::PacketBuilder;
using perfetto::PacketField;
using perfetto::StackSampleField;
using perfetto::TraceField;

namespace {

/// A packet with one entry of the interned data.
class InternedPacket {
 public:
  explicit InternedPacket(std::string& trace) : trace_(trace), packet_(trace_, TraceField::packet) {
    packet_.add_uint32(PacketField::trusted_packet_sequence_id, perfetto::sequence_id);
    packet_.add_uint32(PacketField::sequence_flags, perfetto::needs_state);
  }
  PacketBuilder& packet() { return packet_; }

 private:
  protozero::pbf_builder<TraceField> trace_;
  PacketBuilder packet_;
};

void intern_text(std::string& trace, InternedField kind, std::uint64_t iid, std::string_view text) {
  std::string valid;
  base::append_valid_text(valid, text);
  InternedPacket interned(trace);
  protozero::pbf_builder<InternedField> data(interned.packet(), PacketField::interned_data);
  protozero::pbf_builder<InternedTextField> entry(data, kind);
  entry.add_uint64(InternedTextField::iid, iid);
  entry.add_string(InternedTextField::name, valid);
}

}  // namespace

void PerfettoStacks::write(const EventBatch& batch) {
  for (const StackSample& sample : batch.stack_samples) {
    if (!sample.is_wait()) {
      write_sample(sample);
    } else if (sample.blocked_ns > 0) {
      write_wait(sample);
    }
    unsampled_ns_ += static_cast<std::uint64_t>(std::max<std::int64_t>(sample.unsampled_ns, 0));
  }
}

void PerfettoStacks::write_sample(const StackSample& sample) {
  const std::uint32_t stack = tree_.index_of(sample.stack);
  if (stack == 0) {
    return;
  }
  name_thread(sample.thread);
  const std::uint64_t callstack = callstack_of(stack);
  const ThreadDeclaration& thread = threads_.declared(sample.thread);
  InternedPacket interned(trace_);
  interned.packet().add_uint64(PacketField::timestamp, static_cast<std::uint64_t>(sample.time_ns));
  protozero::pbf_builder<StackSampleField> written(interned.packet(), PacketField::perf_sample);
  written.add_uint32(StackSampleField::cpu, sample.cpu);
  written.add_uint32(StackSampleField::pid, static_cast<std::uint32_t>(thread.pid));
  written.add_uint32(StackSampleField::tid, static_cast<std::uint32_t>(thread.os_thread_id));
  written.add_uint64(StackSampleField::callstack_iid, callstack);
}

void PerfettoStacks::write_wait(const StackSample& wait) {
  const std::uint32_t stack = tree_.index_of(wait.stack);
  std::string function;
  base::append_valid_text(function, stack == 0 ? "wait" : tree_.name_of(tree_.function_of(stack)));
  writer_.write_wait(wait, function, stack == 0 ? 0 : callstack_of(stack));
}

/// Names the thread without a track of its own: it may have one, from its scopes.
void PerfettoStacks::name_thread(ThreadId id) {
  if (!named_.insert(id).second) {
    return;
  }
  const ThreadDeclaration& declared = threads_.declared(id);
  std::string name;
  base::append_valid_text(name, threads_.name_of(id));
  perfetto::append_thread_name(trace_, declared.pid, declared.os_thread_id, name);
}

/// Callstacks have the numbers of stacks, frames and names those of functions.
std::uint64_t PerfettoStacks::callstack_of(std::uint32_t stack) {
  if (!stacks_.insert(stack).second) {
    return stack;
  }
  std::vector<std::uint64_t> frames;
  for (std::uint32_t at = stack; at != 0 && frames.size() < most_functions_of_stack; at = tree_.caller_of(at)) {
    frames.push_back(frame_of(tree_.function_of(at)));
  }
  InternedPacket interned(trace_);
  protozero::pbf_builder<InternedField> data(interned.packet(), PacketField::interned_data);
  protozero::pbf_builder<CallstackField> callstack(data, InternedField::callstacks);
  callstack.add_uint64(CallstackField::iid, stack);
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    callstack.add_uint64(CallstackField::frame_ids, *frame);
  }
  return stack;
}

std::uint64_t PerfettoStacks::frame_of(FunctionId function) {
  const std::uint64_t iid = std::uint64_t{function.value()} + 1;
  if (functions_.insert(function).second) {
    const std::uint64_t mapping = mapping_of(tree_.module_of(function));
    intern_text(trace_, InternedField::function_names, iid, tree_.name_of(function));
    InternedPacket interned(trace_);
    protozero::pbf_builder<InternedField> data(interned.packet(), PacketField::interned_data);
    protozero::pbf_builder<FrameField> frame(data, InternedField::frames);
    frame.add_uint64(FrameField::iid, iid);
    frame.add_uint64(FrameField::function_name_id, iid);
    frame.add_uint64(FrameField::mapping_id, mapping);
    frame.add_uint64(FrameField::rel_pc, tree_.offset_of(function));
  }
  return iid;
}

/// Readers drop frames without a mapping, so that functions of no file have one without a path.
std::uint64_t PerfettoStacks::mapping_of(const std::string& path) {
  const auto [place, is_new] = mappings_.try_emplace(path, mappings_.size() + 1);
  if (is_new) {
    intern_text(trace_, InternedField::mapping_paths, place->second, path.substr(path.rfind('/') == 0 ? 1 : 0));
    InternedPacket interned(trace_);
    protozero::pbf_builder<InternedField> data(interned.packet(), PacketField::interned_data);
    protozero::pbf_builder<MappingField> mapping(data, InternedField::mappings);
    mapping.add_uint64(MappingField::iid, place->second);
    mapping.add_uint64(MappingField::path_string_ids, place->second);
  }
  return place->second;
}

}  // namespace kymo::exchange
