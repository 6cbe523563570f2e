#include "record/names/declaration_reader.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

namespace kymo::record {

namespace {

/// Reads the fields of one record. Missing fields read as zero or empty.
class RecordReader {
 public:
  explicit RecordReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  T number() {
    T value{};
    if (bytes_.size() >= sizeof value) {
      std::memcpy(&value, bytes_.data(), sizeof value);
      bytes_ = bytes_.subspan(sizeof value);
    } else {
      bytes_ = {};
    }
    return value;
  }

  std::string text() {
    const std::size_t size = std::min<std::size_t>(number<std::uint16_t>(), bytes_.size());
    std::string value(reinterpret_cast<const char*>(bytes_.data()), size);
    bytes_ = bytes_.subspan(size);
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
};

void read_site(RecordReader& reader, Declarations& into) {
  SiteDeclaration site;
  site.id = SiteId{reader.number<std::uint32_t>()};
  site.kind = static_cast<SiteKind>(std::min<std::uint32_t>(reader.number<std::uint32_t>(), 3));
  site.line = reader.number<std::uint32_t>();
  site.name = reader.text();
  site.function = reader.text();
  site.file = reader.text();
  site.role = static_cast<SiteRole>(std::min<std::uint32_t>(reader.number<std::uint32_t>(), 2));
  into.sites.push_back(std::move(site));
}

void read_track(RecordReader& reader, Declarations& into) {
  TrackDeclaration track;
  track.id = TrackId{reader.number<std::uint32_t>()};
  track.kind = static_cast<TrackKind>(std::min<std::uint32_t>(reader.number<std::uint32_t>(), 2));
  track.os_thread_id = reader.number<std::uint64_t>();
  track.name = reader.text();
  track.role = static_cast<TrackRole>(std::min<std::uint32_t>(reader.number<std::uint32_t>(), 2));
  into.tracks.push_back(std::move(track));
}

void read_metric(RecordReader& reader, Declarations& into) {
  MetricDeclaration metric;
  metric.id = MetricId{reader.number<std::uint32_t>()};
  metric.kind = static_cast<MetricKind>(std::min<std::uint32_t>(reader.number<std::uint32_t>(), 2));
  metric.name = reader.text();
  metric.unit = reader.text();
  metric.source = reader.text();
  metric.traits = reader.number<std::uint32_t>();
  metric.step = reader.number<double>();
  metric.renewal_ns = reader.number<std::int64_t>();
  metric.window_ns = reader.number<std::int64_t>();
  const std::size_t labels = std::min<std::size_t>(reader.number<std::uint16_t>(), most_metric_labels);
  for (std::size_t i = 0; i < labels; ++i) {
    std::string key = reader.text();
    metric.labels.emplace_back(std::move(key), reader.text());
  }
  into.metrics.push_back(std::move(metric));
}

void read_record(DeclarationKind kind, RecordReader reader, Declarations& into, std::vector<HookedSite>& hooked) {
  switch (kind) {
    case DeclarationKind::name: {
      const NameId id{reader.number<std::uint32_t>()};
      into.names.push_back({id, reader.text()});
      break;
    }
    case DeclarationKind::site:
      read_site(reader, into);
      break;
    case DeclarationKind::track:
      read_track(reader, into);
      break;
    case DeclarationKind::metric:
      read_metric(reader, into);
      break;
    case DeclarationKind::frame_stream: {
      const FrameStreamId id{reader.number<std::uint32_t>()};
      into.frame_streams.push_back({id, ProcessId{1}, reader.text()});
      break;
    }
    case DeclarationKind::info: {
      std::string key = reader.text();
      into.infos.push_back({ProcessId{1}, std::move(key), reader.text()});
      break;
    }
    case DeclarationKind::hooked_site: {
      HookedSite site;
      site.id = SiteId{reader.number<std::uint32_t>()};
      site.module.id = ModuleId{reader.number<std::uint32_t>()};
      site.address = reader.number<std::uint64_t>();
      site.module.load_base = reader.number<std::uint64_t>();
      site.module.size = reader.number<std::uint64_t>();
      site.module.path = reader.text();
      site.module.build_id = reader.text();
      hooked.push_back(std::move(site));
      break;
    }
  }
}

}  // namespace

void read_declarations(std::span<const std::uint64_t> words, Declarations& into, std::vector<HookedSite>& hooked) {
  while (!words.empty()) {
    const std::uint64_t size = words[0] >> 8U;
    if (size > longest_declaration || 1 + (size + 7) / 8 > words.size()) {
      return;
    }
    const auto bytes = std::as_bytes(words.subspan(1)).first(static_cast<std::size_t>(size));
    read_record(static_cast<DeclarationKind>(words[0] & 0xFFU), RecordReader(bytes), into, hooked);
    words = words.subspan(static_cast<std::size_t>(1 + (size + 7) / 8));
  }
}

}  // namespace kymo::record
