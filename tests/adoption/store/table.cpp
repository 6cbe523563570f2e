#include "table.hpp"

#include "checksum.h"
#include "store_config.h"

#if HAVE_UNISTD_H
#include <unistd.h>
#endif

namespace store {

Table::~Table() = default;

void Table::put(const std::string& key, const std::string& value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  rows_[key] = Row{value, store_checksum(value.data(), value.size())};
}

bool Table::get(const std::string& key, std::string* value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = rows_.find(key);
  if (found == rows_.end() || !is_sound(found->second)) {
    return false;
  }
  *value = found->second.value;
  return true;
}

bool Table::is_sound(const Row& row) const {
  return store_checksum(row.value.data(), row.value.size()) == row.checksum;
}

}  // namespace store
