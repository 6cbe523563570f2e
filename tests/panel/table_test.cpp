// A table sorts and copies rows that change between its updates.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "panel/draw/colours.hpp"
#include "panel/tabs/table.hpp"
#include "screen.hpp"

namespace kymo::test {
namespace {

using panel::CopyAs;
using panel::Table;

struct Row {
  std::string name;
  double size = 0;
};

panel::TableRows rows_of(const std::vector<Row>& rows) {
  return {rows.size(),
          {{"name", 1, [&rows](std::size_t row) { return rows[row].name; }},
           panel::count_column("size", panel::numbers_of(rows)(&Row::size))}};
}

TEST(Table, CopiesLeaveOutRowsThatAreGoneSinceTheUpdate) {
  std::vector<Row> rows = {{"small", 1}, {"middle", 5}, {"a long name", 9}};
  Table table("table", 1);
  table.update(rows_of(rows), 1);
  EXPECT_EQ(table.copied(rows_of(rows), CopyAs::csv), "name,size\na long name,9\nmiddle,5\nsmall,1\n");
  rows.pop_back();
  EXPECT_EQ(table.copied(rows_of(rows), CopyAs::csv), "name,size\nmiddle,5\nsmall,1\n");
  EXPECT_EQ(table.copied(rows_of(rows), CopyAs::text), "name    size\nmiddle     5\nsmall      1\n");
  rows.clear();
  EXPECT_EQ(table.copied(rows_of(rows), CopyAs::csv), "name,size\n");
  EXPECT_EQ(table.copied(rows_of(rows), CopyAs::text), "name  size\n");
}

TEST(Table, IsSortedAsWasAskedBeforeItHadRows) {
  using Order = std::vector<std::size_t>;
  const std::vector<Row> rows = {{"b", 5}, {"c", 9}, {"a", 7}};
  const auto order_after = [&rows](const std::vector<std::size_t>& columns) {
    Table table("table", Table::unsorted);
    for (const std::size_t column : columns) {
      table.sort_by(column);
    }
    table.update(rows_of(rows), 1);
    return table.order();
  };
  EXPECT_EQ(order_after({}), (Order{0, 1, 2}));
  EXPECT_EQ(order_after({0}), (Order{2, 0, 1})) << "texts rise at first";
  EXPECT_EQ(order_after({1}), (Order{1, 2, 0})) << "numbers fall";
  EXPECT_EQ(order_after({1, 1}), (Order{0, 2, 1})) << "the second time the other way";
  EXPECT_EQ(order_after({1, 7}), (Order{1, 2, 0})) << "there is no such column";
}

TEST(Table, AClickOnTheColumnThatAKeySortedByTurnsIt) {
  const std::vector<Row> rows = {{"b", 5}, {"c", 9}, {"a", 7}};
  Table table("table", 1);
  ImVec2 corner;
  Screen screen([&] {
    corner = ImGui::GetCursorScreenPos();
    table.update(rows_of(rows), 1);
    table.draw(rows_of(rows), std::nullopt, 300, panel::Theme());
  });
  screen.frames(3);
  table.sort_by(0);
  screen.frames(2);
  ASSERT_EQ(table.column(), 0U);
  ASSERT_FALSE(table.is_falling());
  screen.click(corner.x + 2 * ImGui::GetFontSize(), corner.y + ImGui::GetFontSize() / 2);
  screen.frames(2);
  EXPECT_EQ(table.column(), 0U);
  EXPECT_TRUE(table.is_falling()) << "the arrow was at the other column still";
  EXPECT_EQ(table.order(), (std::vector<std::size_t>{1, 0, 2}));
}

}  // namespace
}  // namespace kymo::test
