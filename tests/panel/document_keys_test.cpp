// docs/panel.md lists the keys that the panel lists.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "panel/view/help.hpp"

namespace kymo::test {
namespace {

TEST(PanelDocument, ListsEveryKey) {
  std::ostringstream text;
  text << std::ifstream(PANEL_DOCUMENT).rdbuf();
  const std::string document = text.str();
  ASSERT_NE(document.find("## Mouse and keys"), std::string::npos);
  for (const panel::HelpLine& line : panel::help_lines()) {
    // "n, p", "1 to 9"
    std::istringstream keys(line.keys);
    for (std::string key; keys >> key;) {
      key.erase(std::remove(key.begin(), key.end(), ','), key.end());
      if (key != "to") {
        EXPECT_NE(document.find('`' + key + '`'), std::string::npos) << key << ": " << line.what;
      }
    }
  }
}

}  // namespace
}  // namespace kymo::test
