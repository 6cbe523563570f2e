#include "record/names/intern_table.hpp"

#include <cstring>
#include <new>

#include "base/text/text.hpp"
#include "record/names/text_hash.hpp"

namespace kymo::record {

namespace {

std::uint64_t hash_of(NameSpace space, std::string_view text) noexcept {
  return hash_text(static_cast<std::uint64_t>(space) << 56U, text);
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
  return find(space, text, hash_of(space, text));
}

InternedName* InternTable::find_or_insert(NameSpace space, std::string_view text, const kymo_site* place) noexcept {
  char cut[longest_text];
  if (text.size() > longest_text) {
    const std::string_view kept = base::cut_text(text, longest_text - base::cut_mark.size());
    std::memcpy(cut, kept.data(), kept.size());
    std::memcpy(cut + kept.size(), base::cut_mark.data(), base::cut_mark.size());
    text = {cut, kept.size() + base::cut_mark.size()};
  }
  const std::uint64_t hash = hash_of(space, text);
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
