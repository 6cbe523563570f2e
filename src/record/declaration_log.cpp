#include "record/declaration_log.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/text.hpp"
#include "record/function_name.hpp"

namespace kymo::record {

namespace {

constexpr std::string_view bytes_to_text(const char* text) {
  return text != nullptr ? std::string_view(text) : std::string_view();
}

}  // namespace

/// A record under construction, on the stack.
struct DeclarationLog::Record {
  explicit Record(DeclarationKind record_kind) : kind(record_kind) {}

  template <typename T>
  Record& number(T value) noexcept {
    std::memcpy(bytes.data() + size, &value, sizeof value);
    size += sizeof value;
    return *this;
  }

  Record& text(std::string_view value) noexcept {
    const std::string_view kept = value.size() <= longest_declared_text
                                      ? value
                                      : base::cut_text(value, longest_declared_text - base::cut_mark.size());
    const bool is_cut = kept.size() < value.size();
    number(static_cast<std::uint16_t>(kept.size() + (is_cut ? base::cut_mark.size() : 0)));
    put(kept);
    if (is_cut) {
      put(base::cut_mark);
    }
    return *this;
  }

  void put(std::string_view value) noexcept {
    if (!value.empty()) {
      std::memcpy(bytes.data() + size, value.data(), value.size());
      size += value.size();
    }
  }

  DeclarationKind kind;
  std::size_t size = 0;
  std::array<std::byte, longest_declaration> bytes;
};

void DeclarationLog::attach(Pool& pool) noexcept {
  // Other threads may be declaring. Where this is a handler that interrupted its own thread's declaration, that one has
  // not begun to write: there was no pool.
  const bool is_locked = lock_.lock();
  pool_ = &pool;
  slot_ = &pool.slot(0);
  if (is_locked) {
    lock_.unlock();
  }
}

bool DeclarationLog::append(const Record& record) noexcept {
  if (slot_ == nullptr) {
    return false;
  }
  const std::size_t words = 1 + (record.size + 7) / 8;
  std::uint64_t* cursor = slot_->cursor.load(std::memory_order_relaxed);
  if (cursor == nullptr || static_cast<std::size_t>(slot_->end - cursor) < words) {
    const bool fits_small = words <= small_chunk_words;
    // A process that ends soon declares little.
    const bool wants_small = fits_small && cursor == nullptr;
    std::optional<std::uint32_t> taken = pool_->take_chunk(wants_small ? ChunkSize::small : ChunkSize::large);
    if (!taken && fits_small && !wants_small) {
      taken = pool_->take_chunk(ChunkSize::small);
    }
    if (!taken) {
      return false;
    }
    Chunk& fresh = pool_->chunk(*taken);
    fresh.header.slot = 0;
    fresh.header.used_words = 0;
    fresh.header.next.store(no_chunk, std::memory_order_relaxed);
    fresh.header.first_sequence = 0;
    if (cursor == nullptr) {
      slot_->first_chunk.store(*taken + 1, std::memory_order_relaxed);
    } else {
      Chunk& last = pool_->chunk(slot_->current_chunk);
      last.header.used_words = static_cast<std::uint32_t>(cursor - last.words);
      fresh.header.first_sequence = last.header.first_sequence + last.header.used_words;
    }
    fresh.header.track.store(log_track, std::memory_order_release);
    if (cursor != nullptr) {
      pool_->chunk(slot_->current_chunk).header.next.store(*taken + 1, std::memory_order_release);
    }
    slot_->current_chunk = *taken;
    slot_->end = fresh.words + pool_->words_of(*taken);
    cursor = fresh.words;
  }
  cursor[0] = static_cast<std::uint64_t>(record.kind) | (std::uint64_t{record.size} << 8U);
  if (words > 1) {
    cursor[words - 1] = 0;
  }
  std::memcpy(static_cast<void*>(cursor + 1), record.bytes.data(), record.size);
  slot_->cursor.store(cursor + words, std::memory_order_release);
  return true;
}

bool DeclarationLog::declare(kymo_site& site) noexcept {
  if (!lock_.lock()) {
    return false;
  }
  bool is_declared = __atomic_load_n(&site.id, __ATOMIC_RELAXED) != 0;
  if (!is_declared && next_site_ <= detail::max_site) {
    Record record(DeclarationKind::site);
    const SiteRole role = site.kind == KYMO_SITE_FIBER  ? SiteRole::fiber_run
                          : site.kind == KYMO_SITE_WAIT ? SiteRole::wait
                                                        : SiteRole::work;
    record.number(next_site_).number(role == SiteRole::work ? site.kind : std::uint32_t{KYMO_SITE_DYNAMIC});
    record.number(site.line);
    const std::string_view function = bytes_to_text(site.function);
    const bool is_named = site.kind != KYMO_SITE_FUNCTION;
    record.text(is_named ? bytes_to_text(site.name) : short_function_name(function))
        .text(function)
        .text(bytes_to_text(site.file))
        .number(static_cast<std::uint32_t>(role));
    is_declared = append(record);
    if (is_declared) {
      __atomic_store_n(&site.id, next_site_++, __ATOMIC_RELEASE);
    }
  }
  lock_.unlock();
  return is_declared;
}

bool DeclarationLog::declare_hooked_site(kymo_site& site, const HookedPlace& place) noexcept {
  if (!lock_.lock()) {
    return false;
  }
  bool is_declared = __atomic_load_n(&site.id, __ATOMIC_RELAXED) != 0;
  if (!is_declared && next_site_ <= detail::max_site) {
    Record record(DeclarationKind::hooked_site);
    record.number(next_site_).number(place.module).number(place.address).number(place.load_base).number(place.size);
    is_declared = append(record.text(place.path).text(place.build_id));
    if (is_declared) {
      __atomic_store_n(&site.id, next_site_++, __ATOMIC_RELEASE);
    }
  }
  lock_.unlock();
  return is_declared;
}

bool DeclarationLog::declare_names(std::uint32_t& first_id, std::span<const std::string_view> texts) noexcept {
  if (!lock_.lock()) {
    return false;
  }
  bool is_declared = __atomic_load_n(&first_id, __ATOMIC_RELAXED) != 0;
  if (!is_declared) {
    const std::uint32_t first = next_name_;
    is_declared = true;
    for (const std::string_view text : texts) {
      Record record(DeclarationKind::name);
      is_declared = is_declared && append(record.number(next_name_++).text(text));
    }
    if (is_declared) {
      __atomic_store_n(&first_id, first, __ATOMIC_RELEASE);
    }
  }
  lock_.unlock();
  return is_declared;
}

std::uint32_t DeclarationLog::declare(InternedName& name, std::string_view detail) noexcept {
  if (const std::uint32_t known = name.id.load(std::memory_order_acquire)) {
    return known;
  }
  if (!lock_.lock()) {
    return 0;
  }
  std::uint32_t id = name.id.load(std::memory_order_relaxed);
  if (id == 0) {
    bool is_declared = false;
    switch (name.space) {
      case NameSpace::metric: {
        Record record(DeclarationKind::metric);
        id = next_metric_;
        is_declared = append(record.number(id).number(std::uint32_t{0}).text(name.text()).text(detail));
        next_metric_ += is_declared ? 1 : 0;
        break;
      }
      case NameSpace::frame_stream: {
        Record record(DeclarationKind::frame_stream);
        id = next_stream_;
        is_declared = append(record.number(id).text(name.text()));
        next_stream_ += is_declared ? 1 : 0;
        break;
      }
      case NameSpace::async_lane:
      case NameSpace::queue: {
        Record record(DeclarationKind::track);
        id = next_track();
        const TrackKind kind = name.space == NameSpace::queue ? TrackKind::queue : TrackKind::async;
        is_declared = append(
            record.number(id).number(static_cast<std::uint32_t>(kind)).number(std::uint64_t{0}).text(name.text()));
        break;
      }
      case NameSpace::lock: {
        Record record(DeclarationKind::track);
        id = next_track();
        // Behind a zero byte stands where it was declared.
        record.number(id).number(static_cast<std::uint32_t>(TrackKind::async)).number(std::uint64_t{0});
        record.text(name.site.name).number(static_cast<std::uint32_t>(TrackRole::lock));
        is_declared = append(record);
        break;
      }
      case NameSpace::text:
      case NameSpace::dynamic_site:
      case NameSpace::fiber_site: {
        Record record(DeclarationKind::name);
        id = next_name_;
        is_declared = append(record.number(id).text(name.text()));
        next_name_ += is_declared ? 1 : 0;
        break;
      }
    }
    id = is_declared ? id : 0;
    name.id.store(id, std::memory_order_release);
  }
  lock_.unlock();
  return id;
}

std::uint32_t DeclarationLog::describe(InternedName& metric, const MetricDescription& description) noexcept {
  if (!lock_.lock()) {
    return 0;
  }
  const std::uint32_t known = metric.id.load(std::memory_order_relaxed);
  const std::uint32_t id = known != 0 ? known : next_metric_;
  const auto cut = [](std::string_view text) { return base::cut_text(text, longest_metric_text); };
  Record record(DeclarationKind::metric);
  record.number(id).number(static_cast<std::uint32_t>(description.kind));
  record.text(cut(description.name)).text(cut(description.unit)).text(cut(description.source));
  record.number(description.traits).number(description.step);
  record.number(description.renewal_ns).number(description.window_ns);
  const std::size_t labels = std::min(description.label_count, most_metric_labels);
  record.number(static_cast<std::uint16_t>(labels));
  for (std::size_t i = 0; i < labels; ++i) {
    record.text(cut(description.labels[i].key)).text(cut(description.labels[i].value));
  }
  const bool is_declared = append(record);
  if (is_declared && known == 0) {
    ++next_metric_;
    metric.id.store(id, std::memory_order_release);
  }
  lock_.unlock();
  return is_declared ? id : known;
}

bool DeclarationLog::declare_thread(TrackId track, std::uint64_t os_thread_id, std::string_view name,
                                    TrackRole role) noexcept {
  if (!lock_.lock()) {
    return false;
  }
  Record record(DeclarationKind::track);
  record.number(track).number(static_cast<std::uint32_t>(TrackKind::thread)).number(os_thread_id);
  record.text(base::cut_text(name, 256)).number(static_cast<std::uint32_t>(role));
  const bool is_declared = append(record);
  lock_.unlock();
  return is_declared;
}

bool DeclarationLog::declare_info(std::string_view key, std::string_view value) noexcept {
  if (!lock_.lock()) {
    return false;
  }
  Record record(DeclarationKind::info);
  const bool is_declared = append(record.text(key).text(value));
  lock_.unlock();
  return is_declared;
}

}  // namespace kymo::record
