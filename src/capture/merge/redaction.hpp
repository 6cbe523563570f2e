// Removes information about the user from a capture.
#pragma once

#include <kymo/declarations.hpp>
#include <kymo/events.hpp>

namespace kymo::capture {

/// Removes:
///
/// - host and command line;
/// - every fact except kymo's own that name no person, file or machine (docs/recording.md lists them);
/// - the directories of source files, of modules, and of files that metrics come from or are labelled with.
///
/// The program's own names (scopes, threads, messages, arguments) stay. So does the boot's id, a random number, because
/// captures are aligned by it.
void redact(Declarations& declarations);

/// Removes what events tell about the user: the command lines of processes that `kymo record` saw.
class EventRedaction {
 public:
  /// Call for all declarations, before events that use them. Ids are those of the events.
  void learn(const Declarations& declarations);
  void redact(EventBatch& batch) const;

 private:
  NameId process_;
  NameId command_;
};

}  // namespace kymo::capture
