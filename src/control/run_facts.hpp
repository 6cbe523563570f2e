// Facts about the run for a capture's header (the process, the machine, the job), and the paths of captures.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <kymo/declarations.hpp>

namespace kymo::control {

/// Facts about this process and machine: command line, executable and its build id, CPU, power mode, kernel, host, boot
/// id, rank, start time. Facts that cannot be read or that KYMO_FACTS does not select are left out.
[[nodiscard]] Declarations describe_run();

/// The rank in a parallel job: RANK, SLURM_PROCID, OMPI_COMM_WORLD_RANK or PMI_RANK; empty outside a job.
[[nodiscard]] std::string job_rank();

/// The job: SLURM_JOB_ID, PBS_JOBID or LSB_JOBID; empty outside a job.
[[nodiscard]] std::string job_id();

/// The machine's name.
[[nodiscard]] std::string host_name();

/// The process that started the recording (KYMO_STARTER), if it is another one; else 0.
[[nodiscard]] std::uint64_t starter_process();

/// The capture of that process (KYMO_FOLLOW), if it is one by this process's KYMO_RECORD; else empty.
[[nodiscard]] std::string followed_path();

/// The path of a file of this process. `%p` is the process, `%h` the host, `%r` the rank (0 without one), `%j` the job
/// (SLURM_JOB_ID, PBS_JOBID or LSB_JOBID; 0 without one), `%w` is `-worker-` and the process if KYMO_STARTER
/// names another process and else nothing, `%%` a percent sign. In a directory (an existing one, or a path that ends in
/// '/', which is then created) the file is `host-rank-pid` (`host-pid` without a rank) with an ending.
[[nodiscard]] std::string expand_path(std::string_view pattern, std::string_view ending);
/// Such a pattern from the root on, for a child that may change its working directory first. Unchanged where that has
/// no name.
[[nodiscard]] std::string absolute_pattern(std::string_view pattern);

}  // namespace kymo::control
