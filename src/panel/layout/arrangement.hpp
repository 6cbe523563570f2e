// What the user arranged, by the names of rows, so that it holds for the program's next capture too.
//
// As text, a line each: how long a frame may take in ns, then rows in the order in which they stand. A row has its
// kind, what was done with it (p: pinned, h: hidden, m: moved, -: none of these), the steps by which it is higher than
// usual, and its name.
//
//     target 16666667
//     metric pm 1 loss
//     track h 0 logger
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <kymo/declarations.hpp>

#include "panel/layout/row_order.hpp"

namespace kymo::panel {

/// A row with which something was done.
struct ArrangedRow {
  std::string name;
  RowLook look;
  bool is_moved = false;  ///< stands in the order of the list
};

/// The arrangement of rows of one kind.
class KeptRows {
 public:
  static constexpr std::size_t most_rows = 2000;
  static constexpr std::size_t most_name = 200;  ///< bytes

  /// Adds a row of an earlier session. Rows beyond most_rows are left out.
  void add(ArrangedRow row);
  /// Takes a row of this capture and arranges it as the row of its name was. Of several with one name, each is known by
  /// its place among them. A row without a name is not kept.
  void declare(std::uint32_t id, const std::string& name, RowOrder& order);
  /// Takes what the user did since the last call. Returns whether it was anything.
  bool take_changes(const RowOrder& order);
  [[nodiscard]] const std::vector<ArrangedRow>& rows() const { return rows_; }

 private:
  void place_moved(RowOrder& order) const;

  std::vector<ArrangedRow> rows_;
  std::unordered_map<std::uint32_t, std::string> names_;  // of this capture's rows
  std::unordered_map<std::string, std::uint32_t> ids_;    // the reverse
  std::uint32_t version_ = 0;                             // of the order when it was looked at last
};

class Arrangement {
 public:
  /// Arranges what was declared since the last call, and takes what the user did. Returns whether the user did
  /// anything.
  bool keep(const Declarations& declarations, RowOrder& metrics, RowOrder& tracks);

  /// How long a frame may take; 0: never set.
  [[nodiscard]] std::int64_t target_ns() const { return target_ns_; }
  void set_target_ns(std::int64_t target_ns) { target_ns_ = target_ns; }

  [[nodiscard]] std::string format() const;
  /// The arrangement of a text, which is not trusted: lines that make no sense are left out.
  [[nodiscard]] static Arrangement parse(std::string_view text);

 private:
  std::int64_t target_ns_ = 0;
  KeptRows metrics_;
  KeptRows tracks_;
  std::size_t declared_metrics_ = 0;
  std::size_t declared_tracks_ = 0;
};

}  // namespace kymo::panel
