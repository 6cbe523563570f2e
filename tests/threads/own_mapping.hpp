// What the kernel reports of this program's own mappings.
#pragma once

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

#include "threads/states/kernel_records.hpp"

namespace kymo::test {

/// No process has it, and so none has left a map of compiled code under it: the kernel's numbers end at 4,194,304.
constexpr std::uint32_t no_process = 2'000'000'000;

/// The mapping of this program that holds an address, as the kernel reports it; as that of no_process.
inline threads::KernelRecord own_mapping(std::uint64_t address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    char dash = 0;
    std::string protection;
    std::string device;
    threads::KernelRecord record;
    words >> std::hex >> start >> dash >> end >> protection >> record.file_offset >> device >> std::dec >>
        record.inode >> record.name;
    if (address >= start && address < end) {
      record.kind = threads::KernelRecord::Kind::mapped;
      record.pid = no_process;
      record.address = start;
      record.size = end - start;
      return record;
    }
  }
  return {};
}

}  // namespace kymo::test
