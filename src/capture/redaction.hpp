// What a capture says about its user, taken out.
#pragma once

#include <kymo/declarations.hpp>

namespace kymo::capture {

/// Takes out host and command line, every fact but those of kymo's own that name no person, file or machine
/// (docs/recording.md lists them), and the directories of source files and modules and of the files that metrics come
/// from or are labelled with. What the program named itself (scopes, threads, messages, arguments) stays. The boot's
/// id, a random number, stays as well: captures are aligned by it.
void redact(Declarations& declarations);

}  // namespace kymo::capture
