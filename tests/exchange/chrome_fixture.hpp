// Batches in, parsed Chrome traces out.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <kymo/events.hpp>
#include <nlohmann/json.hpp>

#include "exchange/chrome/trace.hpp"
#include "support/programs.hpp"
#include "support/temporary_directory.hpp"

namespace kymo::test {

using namespace exchange;

using Json = nlohmann::json;

/// The text that a writer makes of these batches.
inline std::string trace_text(const std::vector<EventBatch>& batches,
                              TraceContainer container = TraceContainer::array) {
  TemporaryDirectory directory;
  const std::string path = directory / "trace.json";
  ChromeTraceWriter writer(base::OutputFile::create(path), container);
  for (const EventBatch& batch : batches) {
    writer.write(batch);
  }
  writer.finish();
  return read_file(path);
}

/// The events of a trace; fails the test where it is not JSON.
inline Json trace_events(const std::vector<EventBatch>& batches) {
  const std::string text = trace_text(batches);
  const Json trace = Json::parse(text, nullptr, false);
  EXPECT_TRUE(trace.is_array()) << text;
  return trace;
}

inline std::int64_t to_ns(const Json& microseconds) {
  return std::llround(static_cast<long double>(microseconds.get<double>()) * 1000.0L);
}
inline std::int64_t start_ns(const Json& event) {
  return to_ns(event.at("ts"));
}
inline std::int64_t end_ns(const Json& event) {
  return to_ns(event.at("ts")) + to_ns(event.at("dur"));
}

/// The events of these phases ("X", "be", ...), in the order of the file.
inline std::vector<Json> of_phase(const Json& events, std::string_view phases) {
  std::vector<Json> found;
  for (const Json& event : events) {
    if (phases.find(event.at("ph").get<std::string>()) != std::string_view::npos) {
      found.push_back(event);
    }
  }
  return found;
}

/// A batch that declares one process, one thread track and the sites "outer", "inner", "leaf" as 1, 2 and 3.
inline EventBatch first_batch(std::int64_t start_ns, std::int64_t end_ns) {
  EventBatch batch;
  batch.start_ns = start_ns;
  batch.end_ns = end_ns;
  ProcessDeclaration process;
  process.id = ProcessId{1};
  process.pid = 4711;
  process.command_line = "./simulate --steps 3";
  batch.declarations.processes.push_back(process);
  batch.declarations.tracks.push_back({TrackId{1}, TrackKind::thread, ProcessId{1}, 4712, "worker"});
  const char* const names[] = {"outer", "inner", "leaf"};
  for (std::size_t i = 0; i < std::size(names); ++i) {
    SiteDeclaration site;
    site.id = SiteId::from_index(i);
    site.name = names[i];
    batch.declarations.sites.push_back(site);
  }
  return batch;
}

inline EventBatch next_batch(std::int64_t start_ns, std::int64_t end_ns) {
  EventBatch batch;
  batch.start_ns = start_ns;
  batch.end_ns = end_ns;
  return batch;
}

inline ScopeEvent open(std::int64_t time_ns, std::uint32_t site, unsigned depth) {
  return {time_ns, SiteId{site}, static_cast<std::uint16_t>(depth), 0};
}
inline ScopeEvent close(std::int64_t time_ns, unsigned depth, std::uint16_t flags = 0) {
  return {time_ns, SiteId{}, static_cast<std::uint16_t>(depth), flags};
}

inline ArgumentValue string_argument(EventBatch& batch, NameId name, std::string_view text, bool is_cut = false) {
  ArgumentValue value;
  value.name = name;
  value.type = ArgumentType::string;
  value.is_cut = is_cut;
  value.bits = batch.text.size();
  value.text_size = static_cast<std::uint32_t>(text.size());
  batch.text += text;
  return value;
}
inline ArgumentValue integer_argument(NameId name, std::int64_t number) {
  ArgumentValue value;
  value.name = name;
  value.bits = static_cast<std::uint64_t>(number);
  return value;
}

}  // namespace kymo::test
