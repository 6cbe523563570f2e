// kymo.h: the C calls that record an event.
#include <array>
#include <cmath>

#include <kymo/kymo.h>
#include <kymo/detail/hot_path.hpp>
#include <kymo/frame.hpp>
#include <kymo/metric.hpp>
#include <kymo/recorder.hpp>
#include <kymo/span.hpp>

#include "record/hot/track_writer.hpp"
#include "record/pool/event_words.hpp"
#include "record/recorder/recorder.hpp"

// In builds with probes for other tools, these names are macros for wrappers around the calls below.
#undef kymo_scope_begin
#undef kymo_scope_end

namespace {

using kymo::Argument;
using kymo::ArgumentType;
using kymo::record::EventKind;
using kymo::record::NameSpace;
using kymo::record::Recorder;
using kymo::record::write_event;

std::string_view text_of(const char* text) noexcept {
  return text != nullptr ? std::string_view(text) : std::string_view();
}

void add_argument(const Argument& argument) noexcept {
  if (!kymo::detail::accepts_argument()) {
    return;
  }
  std::uint32_t name = Recorder::instance().id_of(NameSpace::text, argument.name);
  if (name != 0) {
    kymo::detail::record_arguments(name, &argument, 1);
  } else {
    kymo::record::count_dropped(kymo::record::Dropped::other);
  }
}

}  // namespace

extern "C" {

kymo_scope kymo_scope_begin(kymo_site* site) {
  kymo::detail::ScopeToken token;
  if (kymo::detail::scopes_on()) {
    token = site != nullptr ? kymo::detail::open_scope(*site) : kymo::detail::drop_scope();
  }
  return {token.word};
}

void kymo_scope_end(kymo_scope scope) {
  if (scope.token != 0) {
    kymo::detail::close_scope({scope.token});
  }
}

kymo_site* kymo_dynamic_site_v1(kymo_site* place, const char* name, size_t name_size) {
  kymo::record::notice_fork();
  kymo_site named{};
  named.kind = KYMO_SITE_DYNAMIC;
  if (place != nullptr) {
    named = *place;
  }
  auto& names = Recorder::instance().names();
  const auto& sites = Recorder::instance().sites();
  kymo::record::InternedName* entry = names.find(NameSpace::dynamic_site, {name, name_size});
  if (entry == nullptr) {
    // Not interned, or left-out names would use up the limit.
    static kymo_site left_out{kymo::detail::left_out_id, 0, "", "", "", 0, KYMO_SITE_DYNAMIC};
    if (sites.is_set() && !sites.takes({name, name_size})) {
      return &left_out;
    }
    entry = names.find_or_insert(NameSpace::dynamic_site, {name, name_size}, &named);
  }
  if (entry == nullptr) {
    return nullptr;
  }
  if (place != nullptr && kymo::detail::signed_id(entry->site) == 0) {
    // It found no room when first declared, perhaps from a module that is gone by now. This caller's strings are valid.
    __atomic_store_n(&entry->site.function, place->function, __ATOMIC_RELAXED);
    __atomic_store_n(&entry->site.file, place->file, __ATOMIC_RELAXED);
    __atomic_store_n(&entry->site.line, place->line, __ATOMIC_RELAXED);
  }
  return &entry->site;
}

double kymo_shortest_double_v1(float value) noexcept {
  const auto exact = static_cast<double>(value);
  const double size = std::abs(exact);
  // Up to this power of ten, doubles are exact, so the quotient is the double nearest to the decimal.
  constexpr int most_places = 22;
  constexpr int most_digits = 9;
  if (!(size > 1e-14 && size < 1e9)) {
    return exact;
  }
  double power = 1;
  int places = 0;
  while (size * power < 1e5 && places < most_places) {  // six digits: shorter decimals end in zeros
    power *= 10;
    ++places;
  }
  for (int digits = 6; digits <= most_digits && places <= most_places; ++digits, ++places, power *= 10) {
    const double shorter = std::nearbyint(exact * power) / power;
    if (static_cast<float>(shorter) == value) {
      return shorter;
    }
  }
  return exact;
}

void kymo_argument_int64(const char* name, int64_t value) {
  add_argument(Argument::from_bits(text_of(name), ArgumentType::int64, static_cast<std::uint64_t>(value)));
}

void kymo_argument_uint64(const char* name, uint64_t value) {
  add_argument(Argument::from_bits(text_of(name), ArgumentType::uint64, value));
}

void kymo_argument_double(const char* name, double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  add_argument(Argument::from_bits(text_of(name), ArgumentType::float64, bits));
}

void kymo_argument_bool(const char* name, int value) {
  add_argument(Argument::from_bits(text_of(name), ArgumentType::boolean, value != 0 ? 1 : 0));
}

void kymo_argument_string(const char* name, const char* value, size_t size) {
  add_argument(Argument::from_text(text_of(name), value != nullptr ? std::string_view(value, size) : "(null)"));
}

void kymo_frame_mark(const char* stream) {
  kymo::frame_mark(text_of(stream));
}
void kymo_record_metric(const char* name, double value) {
  kymo::record_metric(text_of(name), value);
}
void kymo_record_metric_unit(const char* name, double value, const char* unit) {
  kymo::record_metric_unit(text_of(name), value, text_of(unit));
}
void kymo_record_io(uint64_t duration_ns, uint64_t bytes) {
  kymo::record_io(duration_ns, bytes);
}
uint64_t kymo_sync(void) {
  return kymo::sync();
}
void kymo_message(const char* text, size_t size) {
  kymo::message(text != nullptr ? std::string_view(text, size) : std::string_view());
}
void kymo_set_thread_name(const char* name) {
  kymo::set_thread_name(text_of(name));
}
int kymo_prepare_thread(void) {
  return kymo::prepare_thread() ? 1 : 0;
}
uint64_t kymo_current_memory_bytes(void) {
  return kymo::current_memory_bytes();
}

uint32_t kymo_track(const char* name, int kind) {
  return kymo::track(text_of(name), kind == KYMO_TRACK_ASYNC ? kymo::TrackKind::async : kymo::TrackKind::queue).value();
}

uint64_t kymo_async_begin(const char* lane, const char* name) {
  return kymo::AsyncSpan(text_of(lane), text_of(name)).release();
}

void kymo_async_end(uint64_t id) {
  kymo::AsyncSpan::adopt(id).end();
}

void kymo_emit_span(uint32_t track, const char* name, const char* category, int64_t start_ns, int64_t duration_ns) {
  kymo::detail::emit_span(kymo::TrackId{track}, text_of(name), text_of(category), start_ns, duration_ns, nullptr, 0);
}

void kymo_flow(uint64_t flow_id, int phase) {
  switch (phase) {
    case KYMO_FLOW_BEGIN:
      kymo::flow_begin(flow_id);
      break;
    case KYMO_FLOW_END:
      kymo::flow_end(flow_id);
      break;
    default:
      kymo::flow_step(flow_id);
      break;
  }
}

void kymo_flow_at(uint32_t track, int64_t time_ns, uint64_t flow_id, int phase) {
  if (!Recorder::instance().is_on()) {
    return;
  }
  if (track == 0 || !kymo::record::is_near_time(time_ns)) {
    kymo::record::count_dropped(kymo::record::Dropped::other);
  } else {
    const bool is_end = phase == KYMO_FLOW_BEGIN || phase == KYMO_FLOW_END;
    const auto kept_phase = static_cast<std::uint64_t>(is_end ? phase : KYMO_FLOW_STEP);
    const std::array<std::uint64_t, 2> words{flow_id, static_cast<std::uint64_t>(time_ns)};
    write_event(EventKind::flow_at, std::uint64_t{track} | (kept_phase << 32U), words);
  }
}
}
