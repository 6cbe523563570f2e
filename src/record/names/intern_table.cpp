#include "record/names/intern_table.hpp"

#include <cstring>
#include <new>

#include "base/text/text.hpp"

namespace kymo::record {

namespace {

std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

std::uint64_t load_bytes(const char* from, std::size_t count) noexcept {
  std::uint64_t value = 0;
  std::memcpy(&value, from, count);
  return value;
}

/// Multiply-and-fold over 8 bytes at a time: a few nanoseconds for the short names of metrics.
std::uint64_t hash_text(NameSpace space, std::string_view text) noexcept {
  std::uint64_t hash = 0x9E3779B97F4A7C15U ^ (static_cast<std::uint64_t>(space) << 56U) ^ text.size();
  const char* from = text.data();
  std::size_t left = text.size();
  for (; left >= 8; from += 8, left -= 8) {
    hash = mix(hash ^ load_bytes(from, 8), 0xA0761D6478BD642FU);
  }
  if (left > 0) {
    hash = mix(hash ^ load_bytes(from, left), 0xE7037ED1A0B428DBU);
  }
  return mix(hash, 0x8EBC6AF09C88C6E3U);
}

}  // namespace

InternedName* InternTable::find(NameSpace space, std::string_view text, std::uint64_t hash) const noexcept {
  const std::atomic<InternedName*>* const buckets = buckets_.load(std::memory_order_acquire);
  InternedName* entry = buckets != nullptr ? buckets[hash % bucket_count].load(std::memory_order_acquire) : nullptr;
  while (entry != nullptr) {
    if (entry->hash == hash && entry->space == space && entry->text() == text) {
      return entry;
    }
    entry = entry->next;
  }
  return nullptr;
}

InternedName* InternTable::find(NameSpace space, std::string_view text) const noexcept {
  return find(space, text, hash_text(space, text));
}

InternedName* InternTable::find_or_insert(NameSpace space, std::string_view text, const kymo_site* place) noexcept {
  char cut[longest_text];
  if (text.size() > longest_text) {
    const std::string_view kept = base::cut_text(text, longest_text - base::cut_mark.size());
    std::memcpy(cut, kept.data(), kept.size());
    std::memcpy(cut + kept.size(), base::cut_mark.data(), base::cut_mark.size());
    text = {cut, kept.size() + base::cut_mark.size()};
  }
  const std::uint64_t hash = hash_text(space, text);
  if (InternedName* const known = find(space, text, hash)) {
    return known;
  }
  if (!lock_.lock()) {
    return nullptr;
  }
  InternedName* entry = find(space, text, hash);
  if (entry == nullptr && count_ < largest_count && map_memory()) {
    if (void* const memory = allocate(sizeof(InternedName) + text.size() + 1)) {
      entry = new (memory) InternedName;
      entry->hash = hash;
      entry->space = space;
      entry->size = static_cast<std::uint32_t>(text.size());
      if (!text.empty()) {
        std::memcpy(static_cast<void*>(entry + 1), text.data(), text.size());
      }
      if (place != nullptr) {
        // The arena is zero-initialized, so a NUL follows the text.
        entry->site = {0, 0, entry->text().data(), place->function, place->file, place->line, place->kind};
      }
      std::atomic<InternedName*>& bucket = buckets_.load(std::memory_order_relaxed)[hash % bucket_count];
      entry->next = bucket.load(std::memory_order_relaxed);
      bucket.store(entry, std::memory_order_release);
      ++count_;
    }
  }
  lock_.unlock();
  return entry;
}

}  // namespace kymo::record
