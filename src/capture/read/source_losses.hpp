// What a capture lacks of those that it was made of. It is stated as facts of a process, which stay when that capture
// is merged or recovered again.
#pragma once

#include <cstdint>
#include <vector>

#include <kymo/capture.hpp>
#include <kymo/declarations.hpp>

namespace kymo::capture {

/// Bytes of damaged places.
inline constexpr const char* unread_bytes_key = "source.unread_bytes";
/// The capture was not closed, and not all that its process had not written was found.
inline constexpr const char* lacks_end_key = "source.lacks_end";

/// The damaged places that were met so far. `may_end_torn`: an incomplete last block is no damage, as it is being
/// written, or as its content was found in memory.
[[nodiscard]] std::vector<Damage> damages_of(const CaptureReader& capture, bool may_end_torn);

/// The facts that a process gets for its capture's losses, in addition to those in `known`.
[[nodiscard]] std::vector<InfoDeclaration> describe_losses(ProcessId process, const std::vector<Damage>& damages,
                                                           bool lacks_end, const std::vector<InfoDeclaration>& known);

}  // namespace kymo::capture
