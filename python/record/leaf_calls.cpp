#include "leaf_calls.hpp"

#include <string>

#include "sites.hpp"

namespace kymo::python {

void LeafCalls::take(const Look& look) {
  // An interrupt prolongs a call, and a chunk that ends moves the cursor too.
  constexpr std::uint32_t most_unlike = looked_at / 20;
  TracedFunction& function = *look.function;
  if (function.thinned_site != nullptr || !detail::has_id(*function.site)) {
    return;  // another thread's call came first, or the site is left out and tells nothing
  }
  const bool is_short = detail::read_counter() - look.begun < longest_;
  const bool is_alone = look.cursor != nullptr && cursor_now() == look.cursor;
  function.unlike_a_leaf += is_short && is_alone ? 0U : 1U;
  const bool is_leaf = ++function.calls == looked_at && function.unlike_a_leaf <= most_unlike;
  if (is_leaf) {
    const kymo_site& site = *function.site;
    kymo_site* const thinned = intern_site(std::string(site.name) + " (1 in " + std::to_string(every_) + " calls)",
                                           site.function, site.file, static_cast<unsigned>(site.line));
    // Patterns are written for the function's own name.
    const bool is_declared = kymo_declare_site_as_v1(thinned, function.site) != 0;
    function.thinned_site = is_declared ? thinned : nullptr;
    function.calls = is_declared ? 0 : looked_at - 1;
  }
}

}  // namespace kymo::python
