#include "record/names/known_ids.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <sys/mman.h>

namespace kymo::record {

KnownIds::~KnownIds() {
  if (entries_ != nullptr) {
    ::munmap(entries_, capacity_ * sizeof(Entry));
  }
}

KnownIds::Entry KnownIds::entry_of(const Key& key, std::uint32_t id) noexcept {
  return {key.halves_[0], static_cast<std::uint32_t>(key.halves_[1]), id};
}

/// The entry with the wanted hash, or the free one where it would be. At least a quarter is free.
KnownIds::Entry& KnownIds::place_of(const Entry& wanted) const noexcept {
  std::size_t at = wanted.first & (capacity_ - 1);
  while (entries_[at].id != 0 && (entries_[at].first != wanted.first || entries_[at].second != wanted.second)) {
    at = (at + 1) & (capacity_ - 1);
  }
  return entries_[at];
}

std::uint32_t KnownIds::find(const Key& key) const noexcept {
  return capacity_ != 0 ? place_of(entry_of(key, 0)).id : 0;
}

void KnownIds::put(const Key& key, std::uint32_t id) noexcept {
  if ((count_ + 1) * 4 > capacity_ * 3 && !grow()) {
    return;
  }
  const Entry added = entry_of(key, id);
  place_of(added) = added;
  ++count_;
}

bool KnownIds::grow() noexcept {
  constexpr std::size_t first_capacity = 4096 / sizeof(Entry);
  const std::size_t larger = std::max(capacity_ * 2, first_capacity);
  void* const mapping =
      ::mmap(nullptr, larger * sizeof(Entry), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    return false;
  }
  const std::span<Entry> old(std::exchange(entries_, static_cast<Entry*>(mapping)), std::exchange(capacity_, larger));
  for (const Entry& entry : old) {
    if (entry.id != 0) {
      place_of(entry) = entry;
    }
  }
  if (!old.empty()) {
    ::munmap(old.data(), old.size_bytes());
  }
  return true;
}

}  // namespace kymo::record
