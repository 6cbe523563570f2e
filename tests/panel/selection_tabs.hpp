// A replayed game on a screen with an open tab.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "interaction.hpp"
#include "metered_game.hpp"

namespace kymo::test {

class SelectionTabs : public Interaction {
 protected:
  explicit SelectionTabs(const std::vector<EventBatch>& batches = metered_game()) : Interaction(batches) {}

  void open(const char* word) {
    ASSERT_TRUE(view_.open_tab(word));
    screen_.frames(4);
  }
  [[nodiscard]] std::vector<std::vector<std::string>> rows() {
    std::vector<std::vector<std::string>> rows;
    std::istringstream lines(view_.copied_tab(panel::CopyAs::csv));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream fields(line);
      rows.emplace_back();
      for (std::string field; std::getline(fields, field, ',');) {
        rows.back().push_back(field);
      }
    }
    rows.erase(rows.begin());
    return rows;
  }
};

}  // namespace kymo::test
