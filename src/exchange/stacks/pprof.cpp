#include "exchange/stacks/pprof.hpp"

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <protozero/pbf_builder.hpp>

#include "exchange/common/export_names.hpp"
#include "exchange/common/timeline_batches.hpp"
#include "exchange/stacks/sampled_threads.hpp"
#include "stats/common/stack_tree.hpp"

namespace kymo::exchange {
namespace {

// Field numbers with the names of profile.proto.
enum class ProfileField : protozero::pbf_tag_type {
  sample_type = 1,
  sample = 2,
  mapping = 3,
  location = 4,
  function = 5,
  string_table = 6,
  duration_nanos = 10,
  period_type = 11,
  period = 12,
};
enum class ValueTypeField : protozero::pbf_tag_type { type = 1, unit = 2 };
enum class SampleField : protozero::pbf_tag_type { location_id = 1, value = 2, label = 3 };
enum class LabelField : protozero::pbf_tag_type { key = 1, str = 2, num = 3 };
enum class MappingField : protozero::pbf_tag_type { id = 1, filename = 5, build_id = 6, has_functions = 7 };
enum class LocationField : protozero::pbf_tag_type { id = 1, mapping_id = 2, line = 4 };
enum class LineField : protozero::pbf_tag_type { function_id = 1, line = 2 };
enum class FunctionField : protozero::pbf_tag_type { id = 1, name = 2, system_name = 3, filename = 4 };

using ProfileBuilder = protozero::pbf_builder<ProfileField>;

constexpr std::uint64_t most_value = std::numeric_limits<std::int64_t>::max();

class PprofWriter {
 public:
  PprofWriter(const Timeline& timeline, base::OutputFile file)
      : timeline_(timeline), tree_(timeline), threads_(timeline), file_(std::move(file)) {}

  void add(const EventBatch& batch) {
    for (const StackSample& sample : batch.stack_samples) {
      if (const std::uint32_t stack = tree_.index_of(sample.stack); stack != 0) {
        Counts& counts = counts_[{sample.thread, stack}];
        counts.samples += sample.is_wait() ? 0 : 1;
        counts.blocked_ns += sample.waited_ns();
      }
    }
  }

  void write() {
    write_types();
    for (const auto& [key, counts] : counts_) {
      write_sample(key.first, key.second, counts);
      file_.spill();
    }
    ProfileBuilder profile(file_.buffer());
    const TimeRange range = timeline_.range();
    profile.add_int64(ProfileField::duration_nanos, range.end_ns - range.start_ns);
    for (const std::string& text : texts_) {
      profile.add_string(ProfileField::string_table, text);
      file_.spill();
    }
    file_.close();
  }

 private:
  struct Counts {
    std::int64_t samples = 0;
    std::uint64_t blocked_ns = 0;
  };

  /// The place of a text in the string table, whose first is empty.
  std::int64_t text(std::string_view bytes) {
    std::string valid = valid_text(bytes);
    const auto [place, is_new] = text_places_.try_emplace(valid, static_cast<std::int64_t>(texts_.size()));
    if (is_new) {
      texts_.push_back(std::move(valid));
    }
    return place->second;
  }

  void write_type(ProfileField field, std::string_view type, std::string_view unit) {
    ProfileBuilder profile(file_.buffer());
    protozero::pbf_builder<ValueTypeField> value(profile, field);
    value.add_int64(ValueTypeField::type, text(type));
    value.add_int64(ValueTypeField::unit, text(unit));
  }

  void write_types() {
    write_type(ProfileField::sample_type, "samples", "count");
    write_type(ProfileField::sample_type, "blocked", "nanoseconds");
    period_ns_ = threads_.period_ns();
    if (period_ns_ != 0) {
      write_type(ProfileField::sample_type, "cpu", "nanoseconds");
      write_type(ProfileField::period_type, "cpu", "nanoseconds");
      ProfileBuilder(file_.buffer()).add_int64(ProfileField::period, period_ns_);
    }
  }

  /// The mapping of a function's file; 0: it has none.
  std::uint64_t mapping_of(const std::string& path) {
    if (path.empty()) {
      return 0;
    }
    const auto [place, is_new] = mappings_.try_emplace(path, mappings_.size() + 1);
    if (is_new) {
      ProfileBuilder profile(file_.buffer());
      protozero::pbf_builder<MappingField> mapping(profile, ProfileField::mapping);
      mapping.add_uint64(MappingField::id, place->second);
      mapping.add_int64(MappingField::filename, text(path));
      mapping.add_bool(MappingField::has_functions, true);
    }
    return place->second;
  }

  std::uint64_t id_of(FunctionId function) {
    const std::uint64_t id = std::uint64_t{function.value()} + 1;
    if (functions_.insert(function).second) {
      const std::int64_t name = text(tree_.name_of(function));
      const std::int64_t source = text(tree_.source_of(function));
      ProfileBuilder profile(file_.buffer());
      protozero::pbf_builder<FunctionField> declared(profile, ProfileField::function);
      declared.add_uint64(FunctionField::id, id);
      declared.add_int64(FunctionField::name, name);
      declared.add_int64(FunctionField::system_name, name);
      declared.add_int64(FunctionField::filename, source);
    }
    return id;
  }

  /// The location of a stack's function and line.
  std::uint64_t location_of(std::uint32_t stack) {
    const FunctionId function = tree_.function_of(stack);
    const std::uint32_t line_number = tree_.line_of(stack);
    const auto [place, is_new] = locations_.try_emplace({function, line_number}, locations_.size() + 1);
    if (is_new) {
      const std::uint64_t mapping = mapping_of(tree_.module_of(function));
      const std::uint64_t id = id_of(function);
      ProfileBuilder profile(file_.buffer());
      protozero::pbf_builder<LocationField> location(profile, ProfileField::location);
      location.add_uint64(LocationField::id, place->second);
      if (mapping != 0) {
        location.add_uint64(LocationField::mapping_id, mapping);
      }
      protozero::pbf_builder<LineField> line(location, LocationField::line);
      line.add_uint64(LineField::function_id, id);
      line.add_int64(LineField::line, line_number);
    }
    return place->second;
  }

  void write_sample(ThreadId thread, std::uint32_t stack, const Counts& counts) {
    std::vector<std::uint64_t> locations;
    for (std::uint32_t at = stack; at != 0 && locations.size() < most_functions_of_stack; at = tree_.caller_of(at)) {
      locations.push_back(location_of(at));
    }
    std::vector<std::int64_t> values{counts.samples,
                                     static_cast<std::int64_t>(std::min(counts.blocked_ns, most_value))};
    if (period_ns_ != 0) {
      values.push_back(counts.samples * period_ns_);
    }
    const ThreadDeclaration& declared = threads_.declared(thread);
    const std::int64_t thread_name = text(threads_.name_of(thread));
    const std::int64_t key_thread = text("thread");
    ProfileBuilder profile(file_.buffer());
    protozero::pbf_builder<SampleField> sample(profile, ProfileField::sample);
    sample.add_packed_uint64(SampleField::location_id, locations.begin(), locations.end());
    sample.add_packed_int64(SampleField::value, values.begin(), values.end());
    {
      protozero::pbf_builder<LabelField> label(sample, SampleField::label);
      label.add_int64(LabelField::key, key_thread);
      label.add_int64(LabelField::str, thread_name);
    }
    const std::pair<std::string_view, std::uint64_t> numbers[] = {{"tid", declared.os_thread_id},
                                                                  {"pid", declared.pid}};
    for (const auto& [key, value] : numbers) {
      protozero::pbf_builder<LabelField> label(sample, SampleField::label);
      label.add_int64(LabelField::key, text(key));
      label.add_int64(LabelField::num, static_cast<std::int64_t>(value));
    }
  }

  const Timeline& timeline_;
  stats::StackTree tree_;
  SampledThreads threads_;
  base::OutputFile file_;
  std::map<std::pair<ThreadId, std::uint32_t>, Counts> counts_;  // by thread and stack
  std::vector<std::string> texts_{std::string()};
  std::unordered_map<std::string, std::int64_t> text_places_{{std::string(), 0}};
  std::unordered_map<std::string, std::uint64_t> mappings_;  // by path
  std::unordered_set<FunctionId> functions_;
  std::map<std::pair<FunctionId, std::uint32_t>, std::uint64_t> locations_;  // by function and line
  std::int64_t period_ns_ = 0;
};

}  // namespace

std::vector<std::string> write_pprof(const Timeline& timeline, base::OutputFile file, const ExportRequest& request) {
  require_samples(timeline);
  PprofWriter writer(timeline, std::move(file));
  visit_batches(timeline, BatchParts::stacks, request.on_progress,
                [&writer](const EventBatch& batch, std::size_t /*capture*/) { writer.add(batch); });
  writer.write();
  return {};
}

}  // namespace kymo::exchange
