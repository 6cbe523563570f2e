// Scheduling of a tier's thread.
#pragma once

#include <vector>

#include <kymo/sampler.hpp>

namespace kymo::sense {

/// CPU numbers are below this; 0: threads cannot be bound to CPUs here.
[[nodiscard]] long cpu_limit() noexcept;

/// Makes the calling thread wake on time: before those of slower tiers if priorities are permitted, and as exactly as
/// the system can. Binds it to the given CPUs, if any; returns false if that fails.
[[nodiscard]] bool schedule_tier(Tier tier, const std::vector<int>& cpus) noexcept;

}  // namespace kymo::sense
