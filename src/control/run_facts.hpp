// What a capture's header says about the run: the process, the machine, the job. And where captures go.
#pragma once

#include <string>
#include <string_view>

#include <kymo/declarations.hpp>

namespace kymo::control {

/// Facts about this process and machine: command line, executable and its build id, CPU, power mode, kernel, host, boot
/// id, rank, start time. A fact that cannot be read is left out, and one that KYMO_FACTS does not take.
[[nodiscard]] Declarations describe_run();

/// Whether KYMO_FACTS takes a fact: patterns as those of KYMO_SITES, or `none`. Where it makes no sense, it takes none.
[[nodiscard]] bool wants_fact(std::string_view key);

/// The rank in a parallel job: RANK, SLURM_PROCID, OMPI_COMM_WORLD_RANK or PMI_RANK; empty outside of one.
[[nodiscard]] std::string job_rank();

/// The job: SLURM_JOB_ID, PBS_JOBID or LSB_JOBID; empty outside of one.
[[nodiscard]] std::string job_id();

/// The machine's name.
[[nodiscard]] std::string host_name();

/// Where this process's capture goes. `%p` is the process, `%h` the host, `%r` the rank (0 without one), `%j` the job
/// (SLURM_JOB_ID, PBS_JOBID or LSB_JOBID; 0 without one), `%%` a percent sign. A directory (one that exists, or a path
/// that ends in '/', which is then made) gets a file `host-rank-pid.kymo` (`host-pid.kymo` without a rank).
[[nodiscard]] std::string expand_capture_path(std::string_view pattern);

}  // namespace kymo::control
