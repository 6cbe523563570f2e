#include "capture/read/source_losses.hpp"

#include <cstdlib>
#include <string>

namespace kymo::capture {

std::vector<Damage> damages_of(const CaptureReader& capture, bool may_end_torn) {
  std::vector<Damage> damages = capture.damages();
  if (may_end_torn) {
    std::erase_if(damages,
                  [&capture](const Damage& damage) { return damage.offset + damage.size >= capture.size_bytes(); });
  }
  return damages;
}

std::vector<InfoDeclaration> describe_losses(ProcessId process, const std::vector<Damage>& damages, bool lacks_end,
                                             const std::vector<InfoDeclaration>& known) {
  std::vector<InfoDeclaration> facts;
  if (!damages.empty()) {
    std::uint64_t bytes = 0;
    for (const InfoDeclaration& fact : known) {
      if (fact.process == process && fact.key == unread_bytes_key) {
        bytes = std::strtoull(fact.value.c_str(), nullptr, 10);
      }
    }
    for (const Damage& damage : damages) {
      bytes += damage.size;
    }
    facts.push_back({process, unread_bytes_key, std::to_string(bytes)});
  }
  if (lacks_end) {
    facts.push_back({process, lacks_end_key, "1"});
  }
  return facts;
}

}  // namespace kymo::capture
