#include "capture/format/declarations_codec.hpp"

#include <cstring>
#include <string>
#include <utility>

namespace kymo::capture {
namespace {

// A row of METRIC_LABELS.
struct LabelRow {
  std::string key;
  std::string value;
  std::uint64_t metric_row = 0;
};

// The columns of each table, for both directions: Columns is DeclarationsOut or DeclarationsIn.

template <typename Columns>
void visit(Columns& columns, const ProcessDeclaration*) {
  columns.text(1, &ProcessDeclaration::host);
  columns.number(2, &ProcessDeclaration::id, wandering);
  columns.number(3, &ProcessDeclaration::pid);
  columns.text(4, &ProcessDeclaration::boot_id);
  columns.text(5, &ProcessDeclaration::rank);
  columns.text(6, &ProcessDeclaration::command_line);
}

template <typename Columns>
void visit(Columns& columns, const InfoDeclaration*) {
  columns.text(1, &InfoDeclaration::key);
  columns.number(2, &InfoDeclaration::process);
  columns.text(3, &InfoDeclaration::value);
}

template <typename Columns>
void visit(Columns& columns, const NameDeclaration*) {
  columns.text(1, &NameDeclaration::text);
  columns.number(2, &NameDeclaration::id, wandering);
}

template <typename Columns>
void visit(Columns& columns, const ModuleDeclaration*) {
  columns.text(1, &ModuleDeclaration::path);
  columns.number(2, &ModuleDeclaration::id, wandering);
  columns.number(3, &ModuleDeclaration::process);
  columns.number(4, &ModuleDeclaration::load_base);
  columns.number(5, &ModuleDeclaration::size);
  columns.text(6, &ModuleDeclaration::build_id);
}

template <typename Columns>
void visit(Columns& columns, const SiteDeclaration*) {
  columns.text(1, &SiteDeclaration::name);
  columns.number(2, &SiteDeclaration::id, wandering);
  columns.kind(3, &SiteDeclaration::kind, SiteKind::hooked);
  columns.number(4, &SiteDeclaration::process);
  columns.number(5, &SiteDeclaration::line);
  columns.text(6, &SiteDeclaration::function);
  columns.text(7, &SiteDeclaration::file);
  columns.number(8, &SiteDeclaration::module);
  columns.number(9, &SiteDeclaration::module_offset);
  columns.role(10, &SiteDeclaration::role, SiteRole::wait);
}

template <typename Columns>
void visit(Columns& columns, const TrackDeclaration*) {
  columns.text(1, &TrackDeclaration::name);
  columns.number(2, &TrackDeclaration::id, wandering);
  columns.kind(3, &TrackDeclaration::kind, TrackKind::queue);
  columns.number(4, &TrackDeclaration::process);
  columns.number(5, &TrackDeclaration::os_thread_id);
  columns.role(6, &TrackDeclaration::role, TrackRole::lock);
}

template <typename Columns>
void visit(Columns& columns, const MetricDeclaration*) {
  columns.text(1, &MetricDeclaration::name);
  columns.number(2, &MetricDeclaration::id, wandering);
  columns.kind(3, &MetricDeclaration::kind, MetricKind::energy_counter);
  columns.number(4, &MetricDeclaration::process);
  columns.text(5, &MetricDeclaration::unit);
  columns.text(6, &MetricDeclaration::source);
  columns.real(7, &MetricDeclaration::step);
  columns.number(8, &MetricDeclaration::renewal_ns);
  columns.number(9, &MetricDeclaration::window_ns);
  columns.number(10, &MetricDeclaration::traits);
}

template <typename Columns>
void visit(Columns& columns, const LabelRow*) {
  columns.text(1, &LabelRow::key);
  columns.text(2, &LabelRow::value);
  columns.number(3, &LabelRow::metric_row, ascending);
}

template <typename Columns>
void visit(Columns& columns, const FrameStreamDeclaration*) {
  columns.text(1, &FrameStreamDeclaration::name);
  columns.number(2, &FrameStreamDeclaration::id, wandering);
  columns.number(3, &FrameStreamDeclaration::process);
}

template <typename Row>
class DeclarationsOut {
 public:
  DeclarationsOut(TableWriter& table, const std::vector<Row>& rows) : table_(table), rows_(rows) {}

  void text(std::uint8_t column, std::string Row::*field) { table_.text_field(column, {rows_, field}); }
  template <typename Integer>
  void number(std::uint8_t column, Integer Row::*field, Transform transform = plain) {
    table_.field(column, transform, {rows_, field});
  }
  template <typename Kind>
  void kind(std::uint8_t column, Kind Row::*field, Kind) {
    number(column, field);
  }
  template <typename Role>
  void role(std::uint8_t column, Role Row::*field, Role) {
    number(column, field);
  }
  void real(std::uint8_t column, double Row::*field) { number(column, field); }

 private:
  TableWriter& table_;
  const std::vector<Row>& rows_;
};

// Appends the table's rows.
template <typename Row>
class DeclarationsIn {
 public:
  DeclarationsIn(const TableView& table, std::vector<Row>& rows)
      : table_(table), rows_(rows), first_(rows.size()), count_(table.rows()) {
    const ColumnView* const texts = table.find(1);
    // Every text takes at least a byte, so there are never more rows than bytes.
    if (texts == nullptr || Encoding::of(texts->encoding).storage != Storage::texts) {
      throw DecodeError("a table of declarations does not begin with a column of texts");
    }
    rows.resize(first_ + static_cast<std::size_t>(count_));
  }

  void text(std::uint8_t column, std::string Row::*field) {
    table_.text_field(column, count_, [&](std::size_t i, std::string_view value) { rows_[first_ + i].*field = value; });
  }
  template <typename Integer>
  void number(std::uint8_t column, Integer Row::*field, Transform = plain) {
    table_.field(column, count_,
                 [&](std::size_t i, std::uint64_t value) { rows_[first_ + i].*field = narrow<Integer>(value); });
  }
  template <typename Kind>
  void kind(std::uint8_t column, Kind Row::*field, Kind last) {
    table_.field(column, count_, [&](std::size_t i, std::uint64_t value) {
      if (value > static_cast<std::uint64_t>(last)) {
        throw DecodeError("a declaration is of a kind that this version of kymo does not know");
      }
      rows_[first_ + i].*field = static_cast<Kind>(value);
    });
  }
  /// An unknown role is ignored; the kind stays.
  template <typename Role>
  void role(std::uint8_t column, Role Row::*field, Role last) {
    table_.field(column, count_, [&](std::size_t i, std::uint64_t value) {
      rows_[first_ + i].*field = value <= static_cast<std::uint64_t>(last) ? static_cast<Role>(value) : Role{};
    });
  }
  void real(std::uint8_t column, double Row::*field) {
    table_.field(column, count_, [&](std::size_t i, std::uint64_t bits) {
      std::memcpy(&(rows_[first_ + i].*field), &bits, sizeof bits);
    });
  }

 private:
  const TableView& table_;
  std::vector<Row>& rows_;
  std::size_t first_;
  std::uint64_t count_;
};

template <typename Row>
void write_rows(TableId id, const std::vector<Row>& rows, TableWriter& table) {
  if (!rows.empty()) {
    table.begin(id);
    DeclarationsOut<Row> columns(table, rows);
    visit(columns, rows.data());
    table.end();
  }
}

template <typename Row>
void read_rows(const TableView& table, std::vector<Row>& rows) {
  DeclarationsIn<Row> columns(table, rows);
  visit(columns, rows.data());
}

std::vector<LabelRow> collect_labels(const std::vector<MetricDeclaration>& metrics) {
  std::vector<LabelRow> labels;
  for (std::size_t row = 0; row < metrics.size(); ++row) {
    for (const auto& [key, value] : metrics[row].labels) {
      labels.push_back({key, value, row});
    }
  }
  return labels;
}

void distribute_labels(const TableView& table, std::vector<MetricDeclaration>& metrics) {
  std::vector<LabelRow> labels;
  read_rows(table, labels);
  for (LabelRow& label : labels) {
    if (label.metric_row >= metrics.size()) {
      throw DecodeError("a label belongs to no metric");
    }
    metrics[static_cast<std::size_t>(label.metric_row)].labels.emplace_back(std::move(label.key),
                                                                            std::move(label.value));
  }
}

}  // namespace

void encode_declarations(const Declarations& declarations, TableWriter& table) {
  write_rows(TableId::processes, declarations.processes, table);
  write_rows(TableId::infos, declarations.infos, table);
  write_rows(TableId::names, declarations.names, table);
  write_rows(TableId::modules, declarations.modules, table);
  write_rows(TableId::sites, declarations.sites, table);
  write_rows(TableId::tracks, declarations.tracks, table);
  write_rows(TableId::metrics, declarations.metrics, table);
  write_rows(TableId::metric_labels, collect_labels(declarations.metrics), table);
  write_rows(TableId::frame_streams, declarations.frame_streams, table);
}

namespace {

constexpr std::size_t max_piece_rows = 4096;
constexpr std::size_t max_piece_bytes = std::size_t{8} << 20U;

std::size_t text_bytes(const ProcessDeclaration& row) {
  return row.host.size() + row.boot_id.size() + row.rank.size() + row.command_line.size();
}
std::size_t text_bytes(const InfoDeclaration& row) {
  return row.key.size() + row.value.size();
}
std::size_t text_bytes(const NameDeclaration& row) {
  return row.text.size();
}
std::size_t text_bytes(const ModuleDeclaration& row) {
  return row.path.size() + row.build_id.size();
}
std::size_t text_bytes(const SiteDeclaration& row) {
  return row.name.size() + row.function.size() + row.file.size();
}
std::size_t text_bytes(const TrackDeclaration& row) {
  return row.name.size();
}
std::size_t text_bytes(const MetricDeclaration& row) {
  std::size_t bytes = row.name.size() + row.unit.size() + row.source.size();
  for (const auto& [key, value] : row.labels) {
    bytes += key.size() + value.size() + 8;
  }
  return bytes;
}
std::size_t text_bytes(const FrameStreamDeclaration& row) {
  return row.name.size();
}

// Calls visit(member) for each vector of Declarations.
template <typename Visit>
void for_each_vector(Visit visit) {
  visit(&Declarations::processes);
  visit(&Declarations::infos);
  visit(&Declarations::names);
  visit(&Declarations::modules);
  visit(&Declarations::sites);
  visit(&Declarations::tracks);
  visit(&Declarations::metrics);
  visit(&Declarations::frame_streams);
}

}  // namespace

void for_each_piece(const Declarations& declarations, const std::function<void(const Declarations&)>& take) {
  std::size_t rows = 0;
  std::size_t bytes = 0;
  for_each_vector([&](auto member) {
    rows += (declarations.*member).size();
    for (const auto& row : declarations.*member) {
      bytes += text_bytes(row);
    }
  });
  if (rows <= max_piece_rows && bytes <= max_piece_bytes) {
    take(declarations);
    return;
  }
  Declarations piece;
  rows = 0;
  bytes = 0;
  for_each_vector([&](auto member) {
    for (const auto& row : declarations.*member) {
      (piece.*member).push_back(row);
      ++rows;
      bytes += text_bytes(row);
      if (rows >= max_piece_rows || bytes >= max_piece_bytes) {
        take(piece);
        piece.clear();
        rows = 0;
        bytes = 0;
      }
    }
  });
  if (!piece.empty()) {
    take(piece);
  }
}

std::uint64_t memory_of(const Declarations& declarations) {
  constexpr std::uint64_t beside_a_row = 64;  // its node in the index by id
  std::uint64_t bytes = 0;
  for_each_vector([&](auto member) {
    for (const auto& row : declarations.*member) {
      bytes += sizeof row + beside_a_row + text_bytes(row);
    }
  });
  return bytes;
}

bool decode_declarations(const TableView& table, Declarations& declarations) {
  switch (static_cast<TableId>(table.id())) {
    case TableId::processes:
      read_rows(table, declarations.processes);
      return true;
    case TableId::infos:
      read_rows(table, declarations.infos);
      return true;
    case TableId::names:
      read_rows(table, declarations.names);
      return true;
    case TableId::modules:
      read_rows(table, declarations.modules);
      return true;
    case TableId::sites:
      read_rows(table, declarations.sites);
      return true;
    case TableId::tracks:
      read_rows(table, declarations.tracks);
      return true;
    case TableId::metrics:
      read_rows(table, declarations.metrics);
      return true;
    case TableId::metric_labels:
      distribute_labels(table, declarations.metrics);
      return true;
    case TableId::frame_streams:
      read_rows(table, declarations.frame_streams);
      return true;
    default:
      return false;
  }
}

}  // namespace kymo::capture
