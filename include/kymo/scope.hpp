// Scopes: intervals on a thread, opened and closed by macros.
//
// Off, a scope costs a load and a branch. On, it costs two reads of the counter and about 2 ns. Recording is turned on
// by kymo::enable() with KYMO_RECORD set, by kymo::start_capture() or by installing a sink.
#pragma once

#include <cstring>
#include <type_traits>

#include <kymo/detail/probes.h>
#include <kymo/argument.hpp>
#include <kymo/detail/hot_path.hpp>
#include <kymo/text.hpp>

// GCC takes what it is told never to run for a reason to inline nothing. Clang needs no such word: it would make the
// frames of unoptimised programs larger.
#if defined(__clang__)
#define KYMO_DETAIL_INLINE
#else
#define KYMO_DETAIL_INLINE __attribute__((always_inline))
#endif

namespace kymo::detail {
#if defined(KYMO_DETAIL_PROBES)
inline namespace KYMO_DETAIL_PROBES {
#endif

/// The name of a scope, which must be a literal. Compilers show this function where the text of a name is not constant.
template <std::size_t N>
KYMO_SKIP
constexpr const char* literal_or_use_KYMO_SCOPE_DYNAMIC(const char (&text)[N]) noexcept {
  return text;
}
template <typename T, typename = std::enable_if_t<!std::is_array_v<T>>>
constexpr const char* literal_or_use_KYMO_SCOPE_DYNAMIC(const T& /*text*/) noexcept {
  static_assert(!std::is_same_v<T, T>,
                "KYMO_SCOPE takes a literal: KYMO_SCOPE_DYNAMIC takes names that are made at run time");
  return "";
}

/// An open scope, closed when the guard is destroyed. Made by KYMO_SCOPE and related macros.
///
/// It belongs to one thread and must not span a co_await; use AsyncSpan for that. A guard destroyed on another thread
/// or in a forked child closes nothing.
class ScopeGuard {
 public:
  KYMO_DETAIL_INLINE KYMO_SKIP
  explicit ScopeGuard(kymo_site& site) noexcept : token_(open(site)) {}

  /// For KYMO_SCOPE_DYNAMIC: `with_name` passes the name to its argument. Called at most once, and only if the name is
  /// needed.
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
    if (token_.word != 0) {
      close_scope(token_);
    }
    probe_close();
  }

  [[nodiscard]] KYMO_SKIP
  bool is_recorded() const noexcept { return detail::is_recorded(token_); }

  /// Replaces a scope's name and arguments under KYMO_DISABLE; never defined.
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

  // For seven to nine arguments, the compiler error says what to do; for more it says that there are too many.
  template <std::size_t N>
  static void arguments(kymo_site&, const char (&)[N], const Argument&, const Argument&, const Argument&,
                        const Argument&, const Argument&, const Argument&, const Argument&,
                        const Argument& = Argument("", 0), const Argument& = Argument("", 0)) noexcept {
    static_assert(N == 0, "KYMO_SCOPE takes up to six arguments: add the others with KYMO_ARG");
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

  KYMO_DETAIL_INLINE KYMO_SKIP
  static ScopeToken open(kymo_site& site) noexcept {
    if constexpr (has_probes) {
      probe_open(site.name[0] != '\0' ? site.name : site.function, site);
    }
    if (!scopes_on()) {
      return {};
    }
    ScopeToken token = open_scope(site);
    if (token.word == 0) {
      return {};
    }
#if !defined(__clang__)
    // Or GCC would copy the rest of the block for each way to open a scope.
    __asm__("" : "+r"(token.word));
#endif
    return not_0(token);
  }

  /// Opens a scope with a name made at run time.
  struct NameTaker {
    ScopeGuard& guard;
    kymo_site& place;

    KYMO_SKIP
    void operator()(Text name) const noexcept {
      if constexpr (has_probes) {
        // Listening tools take NUL-terminated strings.
        char text[256];  // NOLINT(modernize-avoid-c-arrays): <array> would make this header more expensive to include
        const std::size_t size = name.size() < sizeof text ? name.size() : sizeof text - 1;
        if (size != 0) {
          std::memcpy(text, name.data(), size);
        }
        text[size] = '\0';
        probe_open(text, place);
      }
      if (!has_probes || scopes_on()) {
        kymo_site* const site = kymo_dynamic_site_v1(&place, name.data(), name.size());
        guard.token_ = site != nullptr ? open_scope(*site) : drop_scope();
      }
    }
  };

  template <std::size_t N>
  KYMO_SKIP
  static void record_list(kymo_site& site, const Argument (&list)[N]) noexcept {
    record_arguments(site.argument_names, list, N);
  }

  ScopeToken token_{};
};

#if defined(KYMO_DETAIL_PROBES)
}
#endif
}  // namespace kymo::detail

#define KYMO_DETAIL_CONCAT_AGAIN(a, b) a##b
#define KYMO_DETAIL_CONCAT(a, b) KYMO_DETAIL_CONCAT_AGAIN(a, b)
#define KYMO_DETAIL_FIRST(first, ...) first

// A site keeps its first name for ever: one that is chosen at run time must not compile.
#if defined(__clang__)
#define KYMO_DETAIL_CONSTINIT __attribute__((require_constant_initialization))
#elif defined(__GNUC__) && __GNUC__ >= 10
#define KYMO_DETAIL_CONSTINIT __constinit
#else
#define KYMO_DETAIL_CONSTINIT
#endif

#define KYMO_DETAIL_SITE(site, name, kind)        \
  KYMO_DETAIL_CONSTINIT static kymo_site site = { \
      0, 0, ::kymo::detail::literal_or_use_KYMO_SCOPE_DYNAMIC(name), __PRETTY_FUNCTION__, __FILE__, __LINE__, kind}

// Named after the line: an inline function then has one site in all files that include it. The name also contains the
// remedies for a name that is not constant, and for `if (x) KYMO_SCOPE("a");`, where the statement ends with the site
// and the compiler does not find it.
#define KYMO_DETAIL_SITE_NAME(line) KYMO_DETAIL_CONCAT(kymo_scope_needs_a_literal_and_braces_around_it_, line)
#define KYMO_DETAIL_GUARD_NAME(line) KYMO_DETAIL_CONCAT(kymo_scope_, line)

// The guard is not const: GCC 12 would keep it in memory instead of registers.
#define KYMO_DETAIL_SCOPE(line, ...)                                                                 \
  KYMO_DETAIL_SITE(KYMO_DETAIL_SITE_NAME(line), KYMO_DETAIL_FIRST(__VA_ARGS__, 0), KYMO_SITE_SCOPE); \
  ::kymo::detail::ScopeGuard KYMO_DETAIL_GUARD_NAME(line)(KYMO_DETAIL_SITE_NAME(line));              \
  if (KYMO_DETAIL_GUARD_NAME(line).is_recorded())                                                    \
  ::kymo::detail::ScopeGuard::arguments(KYMO_DETAIL_SITE_NAME(line), __VA_ARGS__)

#define KYMO_DETAIL_FUNCTION(line)                                                         \
  KYMO_DETAIL_SITE(KYMO_DETAIL_CONCAT(kymo_function_site_, line), "", KYMO_SITE_FUNCTION); \
  ::kymo::detail::ScopeGuard KYMO_DETAIL_CONCAT(kymo_function_scope_,                      \
                                                line)(KYMO_DETAIL_CONCAT(kymo_function_site_, line))

#define KYMO_DETAIL_SCOPE_DYNAMIC(line, text)                           \
  KYMO_DETAIL_SITE(KYMO_DETAIL_SITE_NAME(line), "", KYMO_SITE_DYNAMIC); \
  ::kymo::detail::ScopeGuard KYMO_DETAIL_GUARD_NAME(line)(              \
      KYMO_DETAIL_SITE_NAME(line), [&](const auto& kymo_take_name) KYMO_SKIP { kymo_take_name(text); })

#if defined(KYMO_DISABLE)

// Nothing is evaluated, but variables in the arguments count as used.
#define KYMO_SCOPE(...) static_cast<void>(sizeof(::kymo::detail::ScopeGuard::ignored(__VA_ARGS__)))
#define KYMO_FUNCTION() static_cast<void>(0)
#define KYMO_SCOPE_DYNAMIC(text) static_cast<void>(sizeof(text))
#define KYMO_ARG(name, value) static_cast<void>(sizeof(::kymo::Argument{name, value}))

#else

/// Records the rest of the enclosing block as a scope: KYMO_SCOPE("cull") or, with up to six arguments,
/// KYMO_SCOPE("cull", {"objects", n}, {"lod", level}). Names must be literals. Arguments are evaluated only when the
/// scope is recorded. Two integer arguments add about 3 ns. At most one per line within a block.
#define KYMO_SCOPE(...) KYMO_DETAIL_SCOPE(__LINE__, __VA_ARGS__)

/// Records the rest of the enclosing block under the name of the enclosing function.
#define KYMO_FUNCTION() KYMO_DETAIL_FUNCTION(__LINE__)

/// Like KYMO_SCOPE, with a name made at run time: a literal, a std::string or another string that lives through the
/// statement. Each distinct name is interned once; a look-up costs about 20 ns. At most 65,536 distinct names are
/// distinguished.
#define KYMO_SCOPE_DYNAMIC(text) KYMO_DETAIL_SCOPE_DYNAMIC(__LINE__, text)

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
