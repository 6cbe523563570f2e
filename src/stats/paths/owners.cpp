#include "stats/paths/owners.hpp"

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

OwnerTable::OwnerTable(const Timeline& timeline) : timeline_(timeline), subjects_(1) {}

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

ChainId OwnerTable::chain_of(const Wait& wait) {
  const auto [found, is_new] =
      chain_ids_.try_emplace({wait.outer, wait.kind, wait.subject}, static_cast<ChainId>(waits_.size() + 1));
  if (is_new) {
    waits_.push_back(wait);
  }
  return found->second;
}

OwnerId OwnerTable::owner_of(const Owner& owner) {
  const std::uint64_t key = (std::uint64_t{owner.chain} << 40U) ^ (std::uint64_t{owner.subject} << 16U) ^
                            (std::uint64_t{owner.track.value()} << 3U) ^ static_cast<std::uint64_t>(owner.kind);
  std::vector<OwnerId>& ids = owner_ids_[key];
  for (const OwnerId id : ids) {
    const Owner& known = owners_[id];
    if (known.chain == owner.chain && known.kind == owner.kind && known.subject == owner.subject &&
        known.track == owner.track) {
      return id;
    }
  }
  ids.push_back(static_cast<OwnerId>(owners_.size()));
  owners_.push_back(owner);
  return ids.back();
}

}  // namespace kymo::stats
