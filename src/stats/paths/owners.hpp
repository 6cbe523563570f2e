// Who owns a nanosecond: what some thread did then, and which waits led to that thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <kymo/explain.hpp>
#include <kymo/thread_states.hpp>
#include <kymo/timeline.hpp>

namespace kymo::stats {

/// How a wait leads to its owner.
enum class WaitKind : std::uint8_t {
  lock = 0,   ///< to the thread that holds the lock
  flow = 1,   ///< to the thread that sends the flow which ends the wait
  queue = 2,  ///< to the queue's span that ends with the wait
  wake = 3,   ///< to the thread that ended the wait, by the kernel's word
};

/// Counts from 0. 0 is no scope at all.
using SubjectId = std::uint32_t;
/// Counts from 1. 0 is no wait: the instance's own thread.
using ChainId = std::uint32_t;
/// Counts from 0.
using OwnerId = std::uint32_t;

/// A wait, and the waits before it.
struct Wait {
  ChainId outer = 0;
  WaitKind kind = WaitKind::lock;
  SubjectId subject = 0;          ///< the scope that waits
  bool is_without_scope = false;  ///< the subject is a thread without scopes; 0: the instance's own
};

/// Whose time it is: that of a track, or of a thread that has none, since it has no scopes.
struct Actor {
  TrackId track{};
  ThreadId thread{};

  friend bool operator==(const Actor& a, const Actor& b) { return a.track == b.track && a.thread == b.thread; }
};

/// The threads whose run states are those of an actor.
[[nodiscard]] std::vector<ThreadId> threads_of(const ThreadStates& states, const Actor& actor);
/// The name of its track or thread; empty where neither has one.
[[nodiscard]] std::string name_of(const Timeline& timeline, const Actor& actor);
/// Of its process; 0 where it has none.
[[nodiscard]] std::uint64_t pid_of(const Timeline& timeline, const Actor& actor);

struct Owner {
  ChainId chain = 0;
  OwnerKind kind = OwnerKind::computing;
  SubjectId subject = 0;  ///< of a thread without scopes itself; 0 where it is the instance's own
  Actor actor;            ///< of a held lock: the one that waits
};

/// Numbers subjects, waits and owners. Memory grows with the different ones. Not thread-safe.
class OwnerTable {
 public:
  explicit OwnerTable(const Timeline& timeline);

  [[nodiscard]] SubjectId subject_of(SiteId site);
  [[nodiscard]] SubjectId subject_of(std::string_view name);
  [[nodiscard]] SubjectId subject_of(ThreadId thread, std::uint64_t own_pid);
  [[nodiscard]] ChainId chain_of(const Wait& wait);
  [[nodiscard]] OwnerId owner_of(const Owner& owner);

  /// A thread in the words of a process, its own or another: "gzip" and "thread reader of gzip"; of its own "the main
  /// thread", "thread reader", and "another thread" where it has no name but the process's.
  [[nodiscard]] std::string words_for(ThreadId thread, std::uint64_t own_pid) const;
  /// The name that its program gave it, else the kernel's.
  [[nodiscard]] const std::string& name_of(ThreadId thread) const { return thread_names_[thread.index()]; }

  [[nodiscard]] const Subject& subject(SubjectId id) const { return subjects_[id]; }
  [[nodiscard]] const Wait& wait(ChainId id) const { return waits_[id - 1]; }
  [[nodiscard]] const Owner& owner(OwnerId id) const { return owners_[id]; }
  [[nodiscard]] std::size_t owner_count() const { return owners_.size(); }

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // name, function, file

  [[nodiscard]] SubjectId intern(Subject subject);

  const Timeline& timeline_;
  std::vector<std::string> thread_names_;
  std::vector<Subject> subjects_;
  std::map<Key, SubjectId> subject_ids_;
  std::unordered_map<SiteId, SubjectId> of_sites_;
  std::map<std::pair<ThreadId, std::uint64_t>, SubjectId> of_threads_;
  std::vector<Wait> waits_;
  std::map<std::tuple<ChainId, WaitKind, SubjectId, bool>, ChainId> chain_ids_;
  std::vector<Owner> owners_;
  std::unordered_map<std::uint64_t, std::vector<OwnerId>> owner_ids_;  // by a hash of what they are
};

}  // namespace kymo::stats
