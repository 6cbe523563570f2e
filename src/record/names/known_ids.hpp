// The ids of everything that static variables declare, by what they declare. A module that was closed and is loaded
// again has new variables, and gets its old ids.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "record/names/text_hash.hpp"

namespace kymo::record {

/// Open hash table. It keeps hashes of 96 bits instead of texts: the chance that two of a million are the same is
/// 1e-17. Its memory is mapped, so signal handlers may use it. Not thread-safe.
class KnownIds {
 public:
  /// A declaration's hash; add all that distinguishes it.
  class Key {
   public:
    Key& add(std::string_view text) noexcept {
      halves_ = {hash_text(halves_[0], text), hash_text(halves_[1], text)};
      return *this;
    }
    Key& add(std::uint64_t number) noexcept {
      halves_ = {mix(halves_[0] ^ number, first_factor), mix(halves_[1] ^ number, second_factor)};
      return *this;
    }

   private:
    friend class KnownIds;
    static constexpr std::uint64_t first_factor = 0xD6E8FEB86659FD93U;
    static constexpr std::uint64_t second_factor = 0xA5A35625E9D3C4A7U;
    std::array<std::uint64_t, 2> halves_{0x589965CC75374CC3U, 0x1D8E4E27C47D124FU};
  };

  constexpr KnownIds() = default;
  KnownIds(const KnownIds&) = delete;
  KnownIds& operator=(const KnownIds&) = delete;
  ~KnownIds();

  /// 0: unknown.
  [[nodiscard]] std::uint32_t find(const Key& key) const noexcept;
  /// Does nothing where there is no memory: the same declaration then gets another id.
  void put(const Key& key, std::uint32_t id) noexcept;

 private:
  struct Entry {
    std::uint64_t first;
    std::uint32_t second;
    std::uint32_t id;  ///< 0: free
  };

  [[nodiscard]] static Entry entry_of(const Key& key, std::uint32_t id) noexcept;
  [[nodiscard]] Entry& place_of(const Entry& wanted) const noexcept;
  [[nodiscard]] bool grow() noexcept;

  Entry* entries_ = nullptr;
  std::size_t capacity_ = 0;  ///< a power of two
  std::size_t count_ = 0;
};

}  // namespace kymo::record
