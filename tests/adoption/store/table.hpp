#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace store {

class Table {
 public:
  Table() = default;
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  virtual ~Table();

  void put(const std::string& key, const std::string& value);
  bool get(const std::string& key, std::string* value);

 private:
  struct Row {
    std::string value{};
    std::uint32_t checksum = 0;
  };

  bool is_sound(const Row& row) const;

  std::mutex mutex_{};
  std::map<std::string, Row> rows_{};
};

}  // namespace store
