#include "record/names/declaration_log.hpp"

#include <algorithm>
#include <cstring>

#include <kymo/detail/hot_path.hpp>

#include "base/text/text.hpp"
#include "record/names/function_name.hpp"

namespace kymo::record {

namespace {

constexpr std::string_view bytes_to_text(const char* text) {
  return text != nullptr ? std::string_view(text) : std::string_view();
}

}  // namespace

/// A record under construction, in the part of the log's chunk that is not published yet. Fields that don't fit are
/// left out and noted; the record is then built again in a new chunk.
class DeclarationLog::Record {
 public:
  explicit Record(std::span<std::byte> room) noexcept : room_(room) {}

  template <typename T>
  Record& number(T value) noexcept {
    put(&value, sizeof value);
    return *this;
  }

  Record& text(std::string_view value) noexcept {
    const std::string_view kept = value.size() <= longest_declared_text
                                      ? value
                                      : base::cut_text(value, longest_declared_text - base::cut_mark.size());
    const std::string_view mark = kept.size() < value.size() ? base::cut_mark : std::string_view();
    number(static_cast<std::uint16_t>(kept.size() + mark.size()));
    put(kept.data(), kept.size());
    put(mark.data(), mark.size());
    return *this;
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool fits() const noexcept { return size_ <= room_.size(); }

 private:
  void put(const void* from, std::size_t count) noexcept {
    if (count != 0 && size_ + count <= room_.size()) {
      std::memcpy(room_.data() + size_, from, count);
    }
    size_ += count;
  }

  std::span<std::byte> room_;
  std::size_t size_ = 0;
};

void DeclarationLog::attach(Pool& pool) noexcept {
  // Other threads may be declaring.
  const bool is_locked = lock_.lock();
  pool_ = &pool;
  slot_ = &pool.slot(0);
  if (is_locked) {
    lock_.unlock();
  }
}

bool DeclarationLog::take_chunk(std::size_t words) noexcept {
  std::uint64_t* const cursor = slot_->cursor.load(std::memory_order_relaxed);
  const bool fits_small = words <= small_chunk_words;
  // A process that ends soon declares little, so its first chunk is small.
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
  end_ = fresh.words + pool_->words_of(*taken);
  // Publishes nothing yet: if the record is not completed, the chunk stays empty.
  slot_->cursor.store(fresh.words, std::memory_order_release);
  return true;
}

template <typename Fill>
bool DeclarationLog::write(DeclarationKind kind, const Fill& fill) noexcept {
  if (slot_ == nullptr) {
    return false;
  }
  for (bool is_fresh = false;; is_fresh = true) {
    std::uint64_t* const cursor = slot_->cursor.load(std::memory_order_relaxed);
    const std::size_t room = cursor != nullptr ? static_cast<std::size_t>(end_ - cursor) : 0;
    Record record(room > 1 ? std::as_writable_bytes(std::span(cursor + 1, room - 1)) : std::span<std::byte>());
    fill(record);
    const std::size_t words = 1 + (record.size() + 7) / 8;
    if (room != 0 && record.fits()) {
      // The padding up to a whole word keeps its old bytes; nobody reads it.
      cursor[0] = static_cast<std::uint64_t>(kind) | (std::uint64_t{record.size()} << 8U);
      slot_->cursor.store(cursor + words, std::memory_order_release);
      return true;
    }
    if (is_fresh || !take_chunk(words)) {
      return false;
    }
  }
}

/// The id of an equal site or a new one, which is declared; 0 if that is impossible.
std::uint32_t DeclarationLog::id_of(const kymo_site& site) noexcept {
  const std::string_view function = bytes_to_text(__atomic_load_n(&site.function, __ATOMIC_RELAXED));
  const std::string_view file = bytes_to_text(__atomic_load_n(&site.file, __ATOMIC_RELAXED));
  const std::uint32_t line = __atomic_load_n(&site.line, __ATOMIC_RELAXED);
  const bool is_named = site.kind != KYMO_SITE_FUNCTION;
  const std::string_view name = is_named ? bytes_to_text(site.name) : short_function_name(function);
  const auto key = KnownIds::Key().add(site.kind).add(line).add(name).add(function).add(file);
  if (const std::uint32_t known = known_sites_.find(key); known != 0 || next_site_ > detail::max_site) {
    return known;
  }
  const SiteRole role = site.kind == KYMO_SITE_FIBER  ? SiteRole::fiber_run
                        : site.kind == KYMO_SITE_WAIT ? SiteRole::wait
                                                      : SiteRole::work;
  const bool is_declared = write(DeclarationKind::site, [&](Record& record) {
    record.number(next_site_).number(role == SiteRole::work ? site.kind : std::uint32_t{KYMO_SITE_DYNAMIC});
    record.number(line).text(name).text(function).text(file).number(static_cast<std::uint32_t>(role));
  });
  if (!is_declared) {
    return 0;
  }
  const std::uint32_t id = next_site_++;
  known_sites_.put(key, id);
  return id;
}

bool DeclarationLog::declare(kymo_site& site) noexcept {
  if (!lock_.lock()) {
    return false;
  }
  if (!detail::has_id(site)) {
    if (const std::uint32_t id = id_of(site)) {
      __atomic_store_n(&site.id, id, __ATOMIC_RELEASE);
    }
  }
  const bool is_declared = detail::has_id(site);
  lock_.unlock();
  return is_declared;
}

bool DeclarationLog::declare_hooked_site(kymo_site& site, const HookedPlace& place) noexcept {
  if (!lock_.lock()) {
    return false;
  }
  bool is_declared = detail::has_id(site);
  if (!is_declared && next_site_ <= detail::max_site) {
    is_declared = write(DeclarationKind::hooked_site, [&](Record& record) {
      record.number(next_site_).number(place.module).number(place.address).number(place.load_base).number(place.size);
      record.text(place.path).text(place.build_id);
    });
    if (is_declared) {
      __atomic_store_n(&site.id, next_site_++, __ATOMIC_RELEASE);
    }
  }
  lock_.unlock();
  return is_declared;
}

/// The first id of equal names or of new ones, which are declared; 0 if that is impossible.
std::uint32_t DeclarationLog::id_of(std::span<const std::string_view> texts) noexcept {
  KnownIds::Key key;
  for (const std::string_view text : texts) {
    key.add(text);
  }
  if (const std::uint32_t known = known_names_.find(key)) {
    return known;
  }
  const std::uint32_t first = next_name_;
  bool is_declared = true;
  for (const std::string_view text : texts) {
    const std::uint32_t id = next_name_++;
    is_declared = is_declared && write(DeclarationKind::name, [&](Record& record) { record.number(id).text(text); });
  }
  if (is_declared) {
    known_names_.put(key, first);
  }
  return is_declared ? first : 0;
}

bool DeclarationLog::declare_names(std::uint32_t& first_id, std::span<const std::string_view> texts) noexcept {
  if (!lock_.lock()) {
    return false;
  }
  if (__atomic_load_n(&first_id, __ATOMIC_RELAXED) == 0) {
    __atomic_store_n(&first_id, id_of(texts), __ATOMIC_RELEASE);
  }
  const bool is_declared = __atomic_load_n(&first_id, __ATOMIC_RELAXED) != 0;
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
    std::uint32_t* next = nullptr;
    DeclarationKind kind = DeclarationKind::name;
    switch (name.space) {
      case NameSpace::metric:
        kind = DeclarationKind::metric;
        next = &next_metric_;
        break;
      case NameSpace::frame_stream:
        kind = DeclarationKind::frame_stream;
        next = &next_stream_;
        break;
      case NameSpace::async_lane:
      case NameSpace::queue:
      case NameSpace::lock:
        kind = DeclarationKind::track;
        break;
      case NameSpace::text:
      case NameSpace::dynamic_site:
      case NameSpace::fiber_site:
        next = &next_name_;
        break;
    }
    id = next != nullptr ? *next : next_track().value();
    const bool is_lock = name.space == NameSpace::lock;
    const bool is_declared = write(kind, [&](Record& record) {
      record.number(id);
      if (kind == DeclarationKind::metric) {
        record.number(std::uint32_t{0});
      } else if (kind == DeclarationKind::track) {
        const TrackKind track = name.space == NameSpace::queue ? TrackKind::queue : TrackKind::async;
        record.number(static_cast<std::uint32_t>(track)).number(std::uint64_t{0});
      }
      // A lock's text is its name, a zero byte and the place of its declaration.
      record.text(is_lock ? bytes_to_text(name.site.name) : name.text());
      if (kind == DeclarationKind::metric) {
        record.text(detail);
      } else if (is_lock) {
        record.number(static_cast<std::uint32_t>(TrackRole::lock));
      }
    });
    if (next != nullptr && is_declared) {
      ++*next;
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
  const bool is_declared = write(DeclarationKind::metric, [&](Record& record) {
    record.number(id).number(static_cast<std::uint32_t>(description.kind));
    record.text(cut(description.name)).text(cut(description.unit)).text(cut(description.source));
    record.number(description.traits).number(description.step);
    record.number(description.renewal_ns).number(description.window_ns);
    const std::size_t labels = std::min(description.label_count, most_metric_labels);
    record.number(static_cast<std::uint16_t>(labels));
    for (std::size_t i = 0; i < labels; ++i) {
      record.text(cut(description.labels[i].key)).text(cut(description.labels[i].value));
    }
  });
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
  const bool is_declared = write(DeclarationKind::track, [&](Record& record) {
    record.number(track).number(static_cast<std::uint32_t>(TrackKind::thread)).number(os_thread_id);
    record.text(base::cut_text(name, 256)).number(static_cast<std::uint32_t>(role));
  });
  lock_.unlock();
  return is_declared;
}

bool DeclarationLog::declare_info(std::string_view key, std::string_view value) noexcept {
  if (!lock_.lock()) {
    return false;
  }
  const bool is_declared = write(DeclarationKind::info, [&](Record& record) { record.text(key).text(value); });
  lock_.unlock();
  return is_declared;
}

}  // namespace kymo::record
