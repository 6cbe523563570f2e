// Turns the kernel's samples of call stacks into stacks of functions with names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <kymo/events.hpp>

#include "threads/stacks/address_spaces.hpp"
#include "threads/stacks/unwinder.hpp"
#include "threads/states/switch_events.hpp"
#include "threads/symbols/kernel_symbols.hpp"
#include "threads/symbols/module_symbols.hpp"
#include "threads/symbols/perf_map.hpp"

namespace kymo::threads {

/// Interns functions and stacks; names a function when it is first seen, from the symbols of the file that the process
/// mapped there. With an unwinder, inlined functions and lines are there too, as far as the file has debug information.
/// One thread.
class StackSamples final : public RecordTaker {
 public:
  /// `unwinder` for copies of stacks; null: callers by frame pointers alone. `has_waits`: the kernel takes
  /// stacks of waits, maybe not of all.
  explicit StackSamples(std::unique_ptr<Unwinder> unwinder = nullptr, bool has_waits = true)
      : unwinder_(std::move(unwinder)), has_waits_(has_waits) {}

  /// What is called every 10 ms or so while files are read.
  void set_meanwhile(std::function<void()> meanwhile) {
    meanwhile_ = std::move(meanwhile);
    if (unwinder_) {
      unwinder_->set_meanwhile(meanwhile_);
    }
  }

  /// Samples that need more are left out and counted, so that a program takes bounded memory however long it runs: some
  /// 200 MB at worst, beside the symbols.
  static constexpr std::size_t most_modules = std::size_t{1} << 14U;
  static constexpr std::size_t most_functions = std::size_t{1} << 18U;
  static constexpr std::size_t most_stacks = std::size_t{1} << 20U;

  /// Takes the next record; they come by ascending time. `thread` is that of a stack, or of a wait that ends. A
  /// microsecond for a stack whose functions were seen before; the first sample in a file reads its symbols.
  void take(const KernelRecord& record, ThreadId thread) override;
  /// Switches may be missing: forgets who waits.
  void lose() override { waits_.clear(); }

  /// For RunStates::set_read_wait().
  [[nodiscard]] WaitEnd read_wait(std::span<const std::uint64_t> kernel_chain);

  /// Adds what was taken since the last call to `batch`: declarations, samples, and the range that they cover. Waits
  /// whose stacks were not taken get those of waits that were about as long, in the same shares.
  void collect(EventBatch& batch, bool is_last = false);

  [[nodiscard]] std::uint64_t samples() const { return samples_; }
  [[nodiscard]] std::uint64_t waits() const { return waits_taken_; }
  /// Those left out because of the limits above.
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

 private:
  struct Module {
    ModuleId id{};  // none until a sample is in it
    std::string path;
    std::uint64_t inode = 0;
    std::optional<ModuleSymbols> symbols;
  };
  /// A function, and the line of the source in it.
  struct Frame {
    FunctionId function;
    std::uint32_t line = 0;
    bool operator==(const Frame& other) const = default;
  };
  struct CalledFrame {
    StackId caller;
    Frame frame;
    bool operator==(const CalledFrame& other) const = default;
  };
  struct HashOfCalledFrame {
    std::size_t operator()(const CalledFrame& key) const noexcept;
  };
  /// A thread that leaves its CPU, or has left it.
  struct Wait {
    std::optional<StackId> stack;  // none: it was not taken
    std::int64_t since_ns = 0;
    bool is_blocked = false;
  };
  /// Waits of a thread that are about as long as each other.
  struct Alike {
    ThreadId thread;
    std::uint32_t cpu = 0;
    std::vector<std::pair<StackId, std::uint32_t>> stacks;  // of those whose stacks were taken, how many
    std::int64_t stack_ns = 0;                              // when the last of these ended
    std::uint32_t times = 0;                                // how many of these were 50 ms after the one counted before
    std::int64_t time_ns = 0;                               // when the last one counted ended
    std::int64_t first_ns = 0;                              // when the first of the others ended
    std::int64_t last_ns = 0;
    std::int64_t waited_ns = 0;  // the sum of the others that were not collected yet

    void add(StackId stack);
  };
  struct Shares {
    std::map<StackId, std::uint32_t> counts;
    std::uint32_t all = 0;
    std::uint32_t times = 0;
  };
  /// A module's number and a position in its file.
  static std::uint64_t key_of(std::uint32_t module, std::uint64_t position) {
    return (std::uint64_t{module} << position_bits) | position;
  }
  static constexpr unsigned position_bits = 48;

  void map(const KernelRecord& record);
  void take_sample(const KernelRecord& record, ThreadId thread);
  void take_leaving(const KernelRecord& record, ThreadId thread);
  void end_wait(const KernelRecord& record, ThreadId thread);
  [[nodiscard]] Shares shares_of(std::uint64_t length) const;
  void share_out(bool is_last);
  void push_shares(Alike& alike, const Shares& shares);
  /// Without the innermost `skipped` functions of the kernel.
  [[nodiscard]] std::optional<StackId> find_stack(const KernelRecord& record, std::size_t skipped = 0);
  [[nodiscard]] const KernelSymbols& kernel();
  [[nodiscard]] bool is_scheduler(std::uint64_t address);
  /// The function at an address, and those inlined there, the innermost last. Valid until the next call.
  [[nodiscard]] std::span<const Frame> frames_at(std::uint32_t pid, std::uint64_t address);
  [[nodiscard]] FunctionId compiled_function_at(std::uint32_t pid, std::uint64_t address);
  [[nodiscard]] FunctionId kernel_function_at(std::uint64_t address);
  [[nodiscard]] std::uint32_t number_of(std::string path, std::uint64_t inode);
  [[nodiscard]] std::vector<Frame> resolve(std::uint32_t number, std::uint64_t file_offset);
  [[nodiscard]] FunctionId inlined_function_of(std::uint32_t module, std::uint64_t address, const SourceFrame& source);
  /// `file` is that of the source.
  [[nodiscard]] FunctionId function_of(std::uint32_t module, std::uint64_t address, const std::string& name,
                                       const std::string& file = {});
  [[nodiscard]] FunctionId add_function(std::uint64_t key, std::uint32_t module, std::uint64_t address,
                                        const std::string& name, const std::string& file);
  [[nodiscard]] ModuleId declare(Module& module);
  [[nodiscard]] StackId stack_of(StackId caller, const Frame& frame);

  AddressSpaces spaces_;
  std::unique_ptr<Unwinder> unwinder_;
  std::deque<Module> modules_;                                                     // its numbers count from 1
  std::map<std::pair<std::string, std::uint64_t>, std::uint32_t> module_numbers_;  // by path and inode
  std::unordered_map<std::uint64_t, std::vector<Frame>> places_;                   // what was looked up, by offset
  std::map<std::pair<std::uint32_t, std::string>, FunctionId> inlined_;            // by module and symbol
  Frame single_;                                                                   // what frames_at() found
  std::unordered_map<std::uint64_t, FunctionId> functions_;                        // by address; module 0: none
  std::unordered_map<CalledFrame, StackId, HashOfCalledFrame> stacks_;
  std::unordered_map<std::uint32_t, PerfMap> perf_maps_;  // by process
  std::unordered_map<std::string, FunctionId> compiled_;  // by name
  std::optional<KernelSymbols> kernel_;
  std::function<void()> meanwhile_;
  std::unordered_map<std::uint32_t, Wait> waits_;   // by the kernel's number of a thread
  std::unordered_map<std::uint64_t, Alike> alike_;  // by that number and the length
  bool has_waits_;
  std::int64_t last_ns_ = 0;
  std::uint32_t last_module_ = 0;
  EventBatch pending_;
  std::uint64_t samples_ = 0;
  std::uint64_t waits_taken_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace kymo::threads
