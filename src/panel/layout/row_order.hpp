// How the user arranged rows: which stand first, which are hidden, and how high they are. Rows are known by their ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace kymo::panel {

/// What was done with a row, wherever it stands.
struct RowLook {
  bool is_pinned = false;
  bool is_hidden = false;
  int height = 0;  ///< steps by which it is higher than usual; negative: lower

  [[nodiscard]] bool operator==(const RowLook&) const = default;
};

class RowOrder {
 public:
  /// A row is at most so many steps lower or higher than usual.
  static constexpr int most_steps = 3;

  /// Rows are at most `most_lower` steps lower and `most_higher` steps higher than usual.
  explicit RowOrder(int most_lower = most_steps, int most_higher = most_steps)
      : least_(-most_lower), most_(most_higher) {}

  [[nodiscard]] bool is_hidden(std::uint32_t row) const { return hidden_.count(row) != 0; }
  [[nodiscard]] std::size_t hidden() const { return hidden_.size(); }
  void hide(std::uint32_t row);
  void show_all();

  /// Pinned rows stand before the others.
  [[nodiscard]] bool is_pinned(std::uint32_t row) const { return pinned_.count(row) != 0; }
  void toggle_pin(std::uint32_t row);

  /// Lets a row change places with its neighbour, if both or neither are pinned. `shown`: the rows in their present
  /// order.
  void move(std::uint32_t row, bool down, std::vector<std::uint32_t> shown);
  /// The place of a row among others, the first one the least. `usual`: its place if nobody moved it, below 2^40.
  [[nodiscard]] std::uint64_t place_of(std::uint32_t row, std::uint64_t usual) const;

  /// Steps by which a row is higher than usual; negative: lower.
  [[nodiscard]] int height_of(std::uint32_t row) const;
  void resize(std::uint32_t row, int by);

  [[nodiscard]] RowLook look_of(std::uint32_t row) const { return {is_pinned(row), is_hidden(row), height_of(row)}; }
  /// Does the same with a row. The height is cut to the limits.
  void set_look(std::uint32_t row, const RowLook& look);
  /// The rows that stand in an order of the user's, the first one first.
  [[nodiscard]] const std::vector<std::uint32_t>& moved() const { return moved_; }
  void set_moved(std::vector<std::uint32_t> rows);

  /// Increases with each change.
  [[nodiscard]] std::uint32_t version() const { return version_; }

 private:
  int least_;
  int most_;
  std::unordered_set<std::uint32_t> hidden_;
  std::unordered_set<std::uint32_t> pinned_;
  std::vector<std::uint32_t> moved_;  // all rows that were on the screen when one was moved, in order
  std::unordered_map<std::uint32_t, int> heights_;
  std::uint32_t version_ = 0;
};

/// What a key or a menu does to a row.
enum class RowAction : std::uint8_t { pin, hide, up, down, higher, lower };

/// Applies an action. `shown`: the rows in their present order.
void apply(RowAction action, std::uint32_t row, const std::vector<std::uint32_t>& shown, RowOrder& order);

}  // namespace kymo::panel
