#include "threads/stacks/address_spaces.hpp"

#include <utility>

namespace kymo::threads {

using Kind = KernelRecord::Kind;

AddressSpaces::Process* AddressSpaces::process_of(std::uint32_t pid) {
  const auto found = processes_.find(pid);
  if (found != processes_.end()) {
    return &found->second;
  }
  return processes_.size() < most_processes ? &processes_[pid] : nullptr;
}

void AddressSpaces::begin_process(const KernelRecord& record) {
  const auto parent = processes_.find(record.parent_pid);
  Process child = parent != processes_.end() ? Process{parent->second.mappings} : Process();
  if (Process* const process = process_of(record.pid)) {
    *process = std::move(child);
  }
}

void AddressSpaces::take(const KernelRecord& record) {
  switch (record.kind) {
    case Kind::found:
      if (const auto known = processes_.find(record.pid); known != processes_.end()) {
        ++known->second.threads;
      } else {
        static_cast<void>(process_of(record.pid));
      }
      return;
    case Kind::forked:
      if (record.pid != record.parent_pid) {
        begin_process(record);
      } else if (Process* const process = process_of(record.pid)) {
        ++process->threads;
      }
      return;
    case Kind::exited:
      if (const auto found = processes_.find(record.pid); found != processes_.end() && --found->second.threads == 0) {
        processes_.erase(found);
      }
      return;
    case Kind::named:
      if (Process* const process = record.is_exec ? process_of(record.pid) : nullptr) {
        *process = {};
      }
      return;
    default:
      return;
  }
}

/// Makes room: the kernel does not report what was unmapped, only what takes its place.
void AddressSpaces::cut(Mappings& mappings, std::uint64_t start, std::uint64_t end) {
  auto next = mappings.lower_bound(start);
  if (next != mappings.begin()) {
    const auto before = std::prev(next);
    const Mapping whole = before->second;
    if (whole.end > start) {
      before->second.end = start;
    }
    if (whole.end > end) {
      mappings[end] = {whole.end, whole.file_offset + (end - before->first), whole.module};
    }
  }
  while (next != mappings.end() && next->first < end) {
    const auto [first, whole] = *next;
    next = mappings.erase(next);
    if (whole.end > end) {
      mappings[end] = {whole.end, whole.file_offset + (end - first), whole.module};
    }
  }
}

void AddressSpaces::map(const KernelRecord& record, std::uint32_t module) {
  Process* const process = process_of(record.pid);
  const std::uint64_t end = record.address + record.size;
  if (process == nullptr || end <= record.address || process->mappings->size() >= most_mappings) {
    return;
  }
  if (process->mappings.use_count() > 1) {
    process->mappings = std::make_shared<Mappings>(*process->mappings);
  }
  cut(*process->mappings, record.address, end);
  (*process->mappings)[record.address] = {end, record.file_offset, module};
}

bool AddressSpaces::find(std::uint32_t pid, std::uint64_t address, Place& place) const {
  const auto process = processes_.find(pid);
  if (process == processes_.end()) {
    return false;
  }
  const Mappings& mappings = *process->second.mappings;
  const auto after = mappings.upper_bound(address);
  if (after == mappings.begin() || std::prev(after)->second.end <= address) {
    return false;
  }
  const auto& [start, mapping] = *std::prev(after);
  place = {mapping.module, mapping.file_offset + (address - start)};
  return true;
}

}  // namespace kymo::threads
