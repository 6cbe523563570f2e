// The list of tabs.
#include "panel/tabs/tab.hpp"

#include "base/text/ascii.hpp"

namespace kymo::panel {

std::vector<std::unique_ptr<Tab>> make_tabs() {
  std::vector<std::unique_ptr<Tab>> tabs;
  for (const auto make :
       {make_statistics_tab, make_explain_tab, make_tree_tab, make_flame_graph_tab, make_functions_tab, make_frames_tab,
        make_spans_tab, make_metrics_tab, make_messages_tab, make_locks_tab, make_search_tab, make_notes_tab}) {
    tabs.push_back(make());
  }
  return tabs;
}

std::string word_of(const Tab& tab) {
  std::string word = tab.title();
  for (char& c : word) {
    c = c == ' ' ? '-' : base::to_lower(c);
  }
  return word;
}

}  // namespace kymo::panel
