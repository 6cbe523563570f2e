#include "stats/paths/owners.hpp"

#include <algorithm>

#include "timeline/observed_threads.hpp"

namespace kymo {

std::string_view name_of(OwnerKind kind) noexcept {
  switch (kind) {
    case OwnerKind::computing:
      break;
    case OwnerKind::pushed_off:
      return "pushed_off";
    case OwnerKind::blocked:
      return "blocked";
    case OwnerKind::held:
      return "held";
    case OwnerKind::queue:
      return "queue";
    case OwnerKind::waking:
      return "waking";
    case OwnerKind::clock:
      return "clock";
  }
  return "computing";
}

}  // namespace kymo

namespace kymo::stats {

std::vector<ThreadId> threads_of(const ThreadStates& states, const Actor& actor) {
  return actor.thread ? std::vector{actor.thread} : states.threads_of(actor.track);
}

std::string name_of(const Timeline& timeline, const Actor& actor) {
  if (actor.track) {
    return timeline.track(actor.track).name;
  }
  const auto& threads = timeline.declarations().threads;
  return actor.thread.index() < threads.size() ? threads[actor.thread.index()].name : std::string();
}

std::uint64_t pid_of(const Timeline& timeline, const Actor& actor) {
  if (actor.track) {
    const ProcessId process = timeline.track(actor.track).process;
    return process ? timeline.process(process).declaration.pid : 0;
  }
  const auto& threads = timeline.declarations().threads;
  return actor.thread.index() < threads.size() ? threads[actor.thread.index()].pid : 0;
}

OwnerTable::OwnerTable(const Timeline& timeline)
    : timeline_(timeline), thread_names_(timeline::names_of_threads(timeline.declarations())), subjects_(1) {}

SubjectId OwnerTable::intern(Subject subject) {
  const auto [found, is_new] = subject_ids_.try_emplace({subject.name, subject.function, subject.file},
                                                        static_cast<SubjectId>(subjects_.size()));
  if (is_new) {
    subjects_.push_back(std::move(subject));
  }
  return found->second;
}

SubjectId OwnerTable::subject_of(SiteId site) {
  if (!site) {
    return 0;
  }
  const auto known = of_sites_.find(site);
  if (known != of_sites_.end()) {
    return known->second;
  }
  const SiteDeclaration& declared = timeline_.site(site);
  // The function of a wait is its holder.
  const std::string function = declared.role == SiteRole::wait ? std::string() : declared.function;
  const SubjectId id = intern({declared.name, function, declared.file, declared.line});
  of_sites_.emplace(site, id);
  return id;
}

SubjectId OwnerTable::subject_of(std::string_view name) {
  return intern({std::string(name), {}, {}, 0});
}

SubjectId OwnerTable::subject_of(ThreadId thread, std::uint64_t own_pid) {
  const auto [known, is_new] = of_threads_.try_emplace({thread, own_pid}, 0);
  if (is_new) {
    known->second = subject_of(words_for(thread, own_pid));
  }
  return known->second;
}

std::string OwnerTable::words_for(ThreadId thread, std::uint64_t own_pid) const {
  const auto& threads = timeline_.declarations().threads;
  if (thread.index() >= threads.size()) {
    return "a thread";
  }
  const ThreadDeclaration& declared = threads[thread.index()];
  const auto name_of_process = [&](std::uint64_t pid) {
    const auto main = std::find_if(threads.rbegin(), threads.rend(), [&](const ThreadDeclaration& other) {
      return other.process == declared.process && other.pid == pid && other.os_thread_id == pid;
    });
    return main != threads.rend() ? main->name : std::string();
  };
  const bool is_own = declared.pid == own_pid;
  const std::string process = name_of_process(declared.pid);
  if (declared.os_thread_id == declared.pid) {
    const bool is_alike = !is_own && process == name_of_process(own_pid);
    return is_own ? "the main thread" : process.empty() ? "another process" : (is_alike ? "another " : "") + process;
  }
  const std::string& name = name_of(thread);
  const bool has_name = !name.empty() && name != process;
  const std::string words = has_name ? "thread " + name : is_own ? "another thread" : "a thread";
  return is_own || process.empty() ? words : words + " of " + process;
}

ChainId OwnerTable::chain_of(const Wait& wait) {
  const auto [found, is_new] = chain_ids_.try_emplace({wait.outer, wait.kind, wait.subject, wait.is_without_scope},
                                                      static_cast<ChainId>(waits_.size() + 1));
  if (is_new) {
    waits_.push_back(wait);
  }
  return found->second;
}

OwnerId OwnerTable::owner_of(const Owner& owner) {
  const std::uint64_t key = (std::uint64_t{owner.chain} << 40U) ^ (std::uint64_t{owner.subject} << 16U) ^
                            (std::uint64_t{owner.actor.track.value()} << 3U) ^
                            (std::uint64_t{owner.actor.thread.value()} << 32U) ^ static_cast<std::uint64_t>(owner.kind);
  std::vector<OwnerId>& ids = owner_ids_[key];
  for (const OwnerId id : ids) {
    const Owner& known = owners_[id];
    if (known.chain == owner.chain && known.kind == owner.kind && known.subject == owner.subject &&
        known.actor == owner.actor) {
      return id;
    }
  }
  ids.push_back(static_cast<OwnerId>(owners_.size()));
  owners_.push_back(owner);
  return ids.back();
}

}  // namespace kymo::stats
