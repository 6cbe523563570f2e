// Scopes: stretches of time on a thread, opened and closed by macros.
//
// Off, a scope costs a load and a branch. On, it costs two reads of the counter and about 2 ns. Recording is
// turned on by kymo::enable() with KYMO_RECORD set, by kymo::start_capture() or by installing a sink.
#pragma once

#include <string_view>

#include <kymo/argument.hpp>
#include <kymo/detail/hot_path.hpp>

namespace kymo::detail {

/// An open scope, closed when it goes out of sight. Made by KYMO_SCOPE and its relatives.
///
/// It belongs to one thread and must not span a co_await: AsyncSpan is for that. One that is destroyed on another
/// thread or in a forked child closes nothing.
class ScopeGuard {
 public:
  KYMO_SKIP
  explicit ScopeGuard(kymo_site& site) noexcept {
    if (scopes_on()) {
      token_ = open_scope(site);
    }
  }

  /// For KYMO_SCOPE_DYNAMIC: asks for the site of the name while scopes are on.
  template <typename FindSite>
  KYMO_SKIP
  ScopeGuard(kymo_site& place, const FindSite& find_site) noexcept(noexcept(find_site(place))) {
    if (scopes_on()) {
      if (kymo_site* const site = find_site(place)) {
        token_ = open_scope(*site);
      }
    }
  }

  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;

  KYMO_SKIP
  ~ScopeGuard() {
    if (token_.state != 0) {
      close_scope(token_);
    }
  }

  [[nodiscard]] KYMO_SKIP
  bool is_recorded() const noexcept { return token_.state != 0 && (token_.state & dropped_bit) == 0; }

  /// The site of a name at a place.
  [[nodiscard]] KYMO_SKIP
  static kymo_site* intern(kymo_site& place, std::string_view name) noexcept {
    return kymo_dynamic_site_v1(&place, name.data(), name.size());
  }

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
  template <std::size_t N>
  KYMO_SKIP
  static void record_list(kymo_site& site, const Argument (&list)[N]) noexcept {
    record_arguments(site.argument_names, list, N);
  }

  ScopeToken token_;
};

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
      KYMO_DETAIL_CONCAT(kymo_site_, id),                                      \
      [&](kymo_site& kymo_place) { return ::kymo::detail::ScopeGuard::intern(kymo_place, text); })

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
