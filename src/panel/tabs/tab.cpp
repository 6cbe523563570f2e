// The list of tabs.
#include "panel/tabs/tab.hpp"

namespace kymo::panel {

std::vector<std::unique_ptr<Tab>> make_tabs() {
  std::vector<std::unique_ptr<Tab>> tabs;
  tabs.push_back(make_statistics_tab());
  tabs.push_back(make_explain_tab());
  tabs.push_back(make_tree_tab());
  tabs.push_back(make_flame_graph_tab());
  tabs.push_back(make_functions_tab());
  tabs.push_back(make_frames_tab());
  tabs.push_back(make_spans_tab());
  tabs.push_back(make_metrics_tab());
  tabs.push_back(make_messages_tab());
  tabs.push_back(make_locks_tab());
  tabs.push_back(make_search_tab());
  tabs.push_back(make_notes_tab());
  return tabs;
}

std::string word_of(const Tab& tab) {
  std::string word = tab.title();
  for (char& c : word) {
    c = static_cast<char>(c == ' ' ? '-' : c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  }
  return word;
}

}  // namespace kymo::panel
