// How the system schedules the thread of a tier.
#pragma once

#include <vector>

#include <kymo/sampler.hpp>

namespace kymo::sense {

/// CPUs have numbers below this; 0: threads cannot be kept to CPUs here.
[[nodiscard]] long cpu_limit() noexcept;

/// Makes the calling thread wake in time: before those of slower tiers where priorities are permitted, and as exactly
/// as the system can. Keeps it to the CPUs where any are given; false where that cannot be.
[[nodiscard]] bool schedule_tier(Tier tier, const std::vector<int>& cpus) noexcept;

}  // namespace kymo::sense
