// Scopes: stretches of time on a thread, opened and closed by macros.
//
// Off, a scope costs a load and a branch. On, it costs two reads of the counter and about 2 ns. Recording is
// turned on by kymo::enable() with KYMO_RECORD set, by kymo::start_capture() or by installing a sink.
#pragma once

#include <cstring>
#include <string_view>

#include <kymo/detail/probes.h>
#include <kymo/argument.hpp>
#include <kymo/detail/hot_path.hpp>

namespace kymo::detail {
#if defined(KYMO_DETAIL_PROBES)
inline namespace KYMO_DETAIL_PROBES {
#endif

/// An open scope, closed when it goes out of sight. Made by KYMO_SCOPE and its relatives.
///
/// It belongs to one thread and must not span a co_await: AsyncSpan is for that. One that is destroyed on another
/// thread or in a forked child closes nothing.
class ScopeGuard {
 public:
  KYMO_SKIP
  explicit ScopeGuard(kymo_site& site) noexcept {
    if constexpr (has_probes) {
      probe_open(site.name[0] != '\0' ? site.name : site.function, site);
    }
    if (scopes_on()) {
      token_ = open_scope(site);
    }
  }

  /// For KYMO_SCOPE_DYNAMIC: `with_name` hands the name to what it is given. Asked at most once, and not at all while
  /// nobody wants it.
  template <typename WithName>
  KYMO_SKIP
  ScopeGuard(kymo_site& place, const WithName& with_name) {
    if (has_probes || scopes_on()) {
      with_name(NameTaker{*this, place});
    }
  }

  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;

  KYMO_SKIP
  ~ScopeGuard() {
    if (token_.state != 0) {
      close_scope(token_);
    }
    probe_close();
  }

  [[nodiscard]] KYMO_SKIP
  bool is_recorded() const noexcept { return token_.state != 0 && (token_.state & dropped_bit) == 0; }

  /// What KYMO_DISABLE makes of a scope's name and arguments; never defined.
  template <std::size_t N>
  static char ignored(const char (&name)[N]);
  template <std::size_t N>
  static char ignored(const char (&name)[N], const Argument& a);
  template <std::size_t N>
  static char ignored(const char (&name)[N], const Argument& a, const Argument& b);
  template <std::size_t N>
  static char ignored(const char (&name)[N], const Argument& a, const Argument& b, const Argument& c);
  template <std::size_t N>
  static char ignored(const char (&name)[N], const Argument& a, const Argument& b, const Argument& c,
                      const Argument& d);
  template <std::size_t N>
  static char ignored(const char (&name)[N], const Argument& a, const Argument& b, const Argument& c, const Argument& d,
                      const Argument& e);
  template <std::size_t N>
  static char ignored(const char (&name)[N], const Argument& a, const Argument& b, const Argument& c, const Argument& d,
                      const Argument& e, const Argument& f);

  template <std::size_t N>
  KYMO_SKIP
  static void arguments(kymo_site& /*site*/, const char (&/*name*/)[N]) noexcept {}

  template <std::size_t N>
  KYMO_SKIP
  static void arguments(kymo_site& site, const char (&/*name*/)[N], const Argument& a) noexcept {
    record_arguments(site.argument_names, &a, 1);
  }
  template <std::size_t N>
  KYMO_SKIP
  static void arguments(kymo_site& site, const char (&/*name*/)[N], const Argument& a, const Argument& b) noexcept {
    record_list(site, {a, b});
  }
  template <std::size_t N>
  KYMO_SKIP
  static void arguments(kymo_site& site, const char (&/*name*/)[N], const Argument& a, const Argument& b,
                        const Argument& c) noexcept {
    record_list(site, {a, b, c});
  }
  template <std::size_t N>
  KYMO_SKIP
  static void arguments(kymo_site& site, const char (&/*name*/)[N], const Argument& a, const Argument& b,
                        const Argument& c, const Argument& d) noexcept {
    record_list(site, {a, b, c, d});
  }
  template <std::size_t N>
  KYMO_SKIP
  static void arguments(kymo_site& site, const char (&/*name*/)[N], const Argument& a, const Argument& b,
                        const Argument& c, const Argument& d, const Argument& e) noexcept {
    record_list(site, {a, b, c, d, e});
  }
  template <std::size_t N>
  KYMO_SKIP
  static void arguments(kymo_site& site, const char (&/*name*/)[N], const Argument& a, const Argument& b,
                        const Argument& c, const Argument& d, const Argument& e, const Argument& f) noexcept {
    record_list(site, {a, b, c, d, e, f});
  }

 private:
#if defined(KYMO_DETAIL_PROBES)
  static constexpr bool has_probes = true;
  KYMO_SKIP
  static void probe_open(const char* name, const kymo_site& site) noexcept {
    kymo_probe_open(name, site.file, site.line);
  }
  KYMO_SKIP
  static void probe_close() noexcept {
    kymo_probe_close();
  }
#else
  static constexpr bool has_probes = false;
  KYMO_SKIP
  static void probe_open(const char* /*name*/, const kymo_site& /*site*/) noexcept {}
  KYMO_SKIP
  static void probe_close() noexcept {}
#endif

  /// Opens a scope under a name that was made at run time.
  struct NameTaker {
    ScopeGuard& guard;
    kymo_site& place;

    KYMO_SKIP
    void operator()(std::string_view name) const noexcept {
      if constexpr (has_probes) {
        // What listens takes strings that end in a zero byte.
        char text[256];  // NOLINT(modernize-avoid-c-arrays): <array> would cost those who include this
        const std::size_t size = name.size() < sizeof text ? name.size() : sizeof text - 1;
        if (size != 0) {
          std::memcpy(text, name.data(), size);
        }
        text[size] = '\0';
        probe_open(text, place);
      }
      if (!has_probes || scopes_on()) {
        if (kymo_site* const site = kymo_dynamic_site_v1(&place, name.data(), name.size())) {
          guard.token_ = open_scope(*site);
        }
      }
    }
  };

  template <std::size_t N>
  KYMO_SKIP
  static void record_list(kymo_site& site, const Argument (&list)[N]) noexcept {
    record_arguments(site.argument_names, list, N);
  }

  ScopeToken token_;
};

#if defined(KYMO_DETAIL_PROBES)
}
#endif
}  // namespace kymo::detail

#define KYMO_DETAIL_CONCAT_AGAIN(a, b) a##b
#define KYMO_DETAIL_CONCAT(a, b) KYMO_DETAIL_CONCAT_AGAIN(a, b)
#define KYMO_DETAIL_FIRST(first, ...) first

#define KYMO_DETAIL_SITE(site, name, kind) \
  static kymo_site site = {0, 0, "" name, __PRETTY_FUNCTION__, __FILE__, __LINE__, kind}

// The guard is not const: GCC 12 would keep it in memory instead of registers.
#define KYMO_DETAIL_SCOPE(id, ...)                                                                          \
  KYMO_DETAIL_SITE(KYMO_DETAIL_CONCAT(kymo_site_, id), KYMO_DETAIL_FIRST(__VA_ARGS__, 0), KYMO_SITE_SCOPE); \
  ::kymo::detail::ScopeGuard KYMO_DETAIL_CONCAT(kymo_scope_, id)(KYMO_DETAIL_CONCAT(kymo_site_, id));       \
  if (KYMO_DETAIL_CONCAT(kymo_scope_, id).is_recorded())                                                    \
  ::kymo::detail::ScopeGuard::arguments(KYMO_DETAIL_CONCAT(kymo_site_, id), __VA_ARGS__)

#define KYMO_DETAIL_FUNCTION(id)                                                \
  KYMO_DETAIL_SITE(KYMO_DETAIL_CONCAT(kymo_site_, id), "", KYMO_SITE_FUNCTION); \
  ::kymo::detail::ScopeGuard KYMO_DETAIL_CONCAT(kymo_scope_, id)(KYMO_DETAIL_CONCAT(kymo_site_, id))

#define KYMO_DETAIL_SCOPE_DYNAMIC(id, text)                                    \
  KYMO_DETAIL_SITE(KYMO_DETAIL_CONCAT(kymo_site_, id), "", KYMO_SITE_DYNAMIC); \
  ::kymo::detail::ScopeGuard KYMO_DETAIL_CONCAT(kymo_scope_, id)(              \
      KYMO_DETAIL_CONCAT(kymo_site_, id), [&](const auto& kymo_take_name) KYMO_SKIP { kymo_take_name(text); })

#if defined(KYMO_DISABLE)

// Nothing is evaluated, but what stands in the arguments counts as used.
#define KYMO_SCOPE(...) static_cast<void>(sizeof(::kymo::detail::ScopeGuard::ignored(__VA_ARGS__)))
#define KYMO_FUNCTION() static_cast<void>(0)
#define KYMO_SCOPE_DYNAMIC(text) static_cast<void>(sizeof(text))
#define KYMO_ARG(name, value) static_cast<void>(sizeof(::kymo::Argument{name, value}))

#else

/// Records the rest of the enclosing block as a scope: KYMO_SCOPE("cull") or, with up to six arguments,
/// KYMO_SCOPE("cull", {"objects", n}, {"lod", level}). The names are literals; arguments are evaluated only when the
/// scope is recorded. Two integer arguments add about 3 ns.
#define KYMO_SCOPE(...) KYMO_DETAIL_SCOPE(__COUNTER__, __VA_ARGS__)

/// Records the rest of the enclosing block under the name of the function it stands in.
#define KYMO_FUNCTION() KYMO_DETAIL_FUNCTION(__COUNTER__)

/// Like KYMO_SCOPE with a name made at run time: anything that converts to std::string_view and lives through the
/// statement. Each distinct name is interned once; looking one up costs about 20 ns. At most 65,536 distinct names are
/// told apart.
#define KYMO_SCOPE_DYNAMIC(text) KYMO_DETAIL_SCOPE_DYNAMIC(__COUNTER__, text)

/// Adds an argument to the innermost open scope of this thread: KYMO_ARG("visible", count). Evaluated only when that
/// scope is recorded.
#define KYMO_ARG(name, value)                                                             \
  do {                                                                                    \
    if (::kymo::detail::accepts_argument()) {                                             \
      static std::uint32_t kymo_argument_name = 0;                                        \
      ::kymo::detail::record_argument(kymo_argument_name, ::kymo::Argument{name, value}); \
    }                                                                                     \
  } while (false)

#endif
