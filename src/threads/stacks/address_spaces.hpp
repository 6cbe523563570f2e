// Which file's bytes a process executes at an address, followed from the kernel's records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>

#include "threads/states/kernel_records.hpp"

namespace kymo::threads {

/// A stretch of a process's addresses that holds a part of a file.
struct Mapping {
  std::uint64_t end = 0;
  std::uint64_t file_offset = 0;  ///< of its first byte
  std::uint32_t module = 0;       ///< the caller's number of the file
};

/// The executable mappings of the processes that exist. A forked process shares its parent's until either changes. One
/// thread.
class AddressSpaces {
 public:
  /// Processes and mappings of a process beyond these numbers are not followed.
  static constexpr std::size_t most_processes = std::size_t{1} << 16U;
  static constexpr std::size_t most_mappings = std::size_t{1} << 16U;

  /// Follows forks, executions and ends.
  void take(const KernelRecord& record);
  /// The process of the record maps that file.
  void map(const KernelRecord& record, std::uint32_t module);

  struct Place {
    std::uint32_t module = 0;
    std::uint64_t file_offset = 0;
  };
  /// Returns false if nothing is known of the address.
  [[nodiscard]] bool find(std::uint32_t pid, std::uint64_t address, Place& place) const;

 private:
  using Mappings = std::map<std::uint64_t, Mapping>;  // by start; disjoint
  struct Process {
    std::shared_ptr<Mappings> mappings = std::make_shared<Mappings>();
    std::uint32_t threads = 1;
  };

  Process* process_of(std::uint32_t pid);
  void begin_process(const KernelRecord& record);
  static void cut(Mappings& mappings, std::uint64_t start, std::uint64_t end);

  std::unordered_map<std::uint32_t, Process> processes_;
};

}  // namespace kymo::threads
