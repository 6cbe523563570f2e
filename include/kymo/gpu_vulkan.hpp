// GPU scopes for Vulkan, through timestamp queries. Uses the types of the program's <vulkan/vulkan.h> and the functions
// of the program's loader; links nothing of Vulkan.
//
//     kymo::VulkanSetup setup;
//     setup.instance = instance;  setup.physical_device = gpu;  setup.device = device;
//     setup.queue = queue;        setup.queue_family = family;
//     setup.get_instance_function = vkGetInstanceProcAddr;
//     setup.has_host_query_reset = true;        // the feature hostQueryReset was enabled
//     setup.has_calibrated_timestamps = true;   // the extension VK_EXT_calibrated_timestamps was enabled
//     kymo::VulkanContext vulkan(setup);
//
//     { KYMO_GPU_SCOPE(vulkan.on(commands), "shadow pass"); record_shadows(commands); }
//     vulkan.collect();                         // once per frame
//
// Component kymo::gpu.
#pragma once

#include <vulkan/vulkan.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <kymo/gpu_scope.hpp>

namespace kymo {

/// Handles and features that a VulkanContext uses. All except the last three are required.
struct VulkanSetup {
  VkInstance instance = nullptr;
  VkPhysicalDevice physical_device = nullptr;
  VkDevice device = nullptr;
  VkQueue queue = nullptr;
  std::uint32_t queue_family = 0;
  PFN_vkGetInstanceProcAddr get_instance_function = nullptr;
  /// hostQueryReset (Vulkan 1.2, VK_EXT_host_query_reset) was enabled: queries are reset after they are read. Otherwise
  /// call collect(command_buffer) instead of collect().
  bool has_host_query_reset = false;
  /// VK_EXT_calibrated_timestamps or its KHR equivalent was enabled: both clocks are read together, ten times a second.
  /// Otherwise they are compared at construction and by calibrate(). The bound then grows by half a microsecond per
  /// millisecond until calibrate() is called for the second comparison.
  bool has_calibrated_timestamps = false;
};

namespace detail {

/// Timestamp queries of one queue.
class VulkanDriver final : public GpuDriver {
 public:
  [[nodiscard]] static GpuDriverOrTrouble make(const VulkanSetup& setup, std::uint32_t most_pending) {
    auto driver = std::make_unique<VulkanDriver>();
    std::string trouble;
    try {
      trouble = driver->set_up(setup, most_pending);
    } catch (...) {
      trouble = "there is too little memory";
    }
    if (!trouble.empty()) {
      return {nullptr, std::move(trouble)};
    }
    return {std::move(driver), {}};
  }

  VulkanDriver() = default;
  ~VulkanDriver() override {
    if (pool_ != VK_NULL_HANDLE) {
      calls_.destroy_query_pool(device_, pool_, nullptr);
    }
  }

  [[nodiscard]] GpuClockFacts clock() const noexcept override { return facts_; }

  [[nodiscard]] std::optional<GpuClockPair> read_clock() noexcept override {
    if (calls_.get_calibrated == nullptr) {
      return std::exchange(waited_pair_, std::nullopt);
    }
    std::array<VkCalibratedTimestampInfoEXT, 2> infos{};
    for (VkCalibratedTimestampInfoEXT& info : infos) {
      info.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT;
    }
    infos[0].timeDomain = VK_TIME_DOMAIN_DEVICE_EXT;
    infos[1].timeDomain = VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT;
    std::array<std::uint64_t, 2> times{};
    std::uint64_t deviation = 0;
    const std::int64_t before = now_ns();
    if (calls_.get_calibrated(device_, has_monotonic_ ? 2 : 1, infos.data(), times.data(), &deviation) != VK_SUCCESS) {
      return std::nullopt;
    }
    const std::int64_t after = now_ns();
    // If the driver cannot read CLOCK_MONOTONIC, its time lies between two readings of it.
    const std::int64_t half = (after - before + 1) / 2;
    if (has_monotonic_ && deviation <= static_cast<std::uint64_t>(half)) {
      return GpuClockPair{times[0], static_cast<std::int64_t>(times[1]), static_cast<std::int64_t>(deviation)};
    }
    return GpuClockPair{times[0], before + half, half};
  }

  [[nodiscard]] std::string track_name(void* /*place*/) override { return "GPU Vulkan"; }

  bool write_begin(std::uint32_t timer, void* place) noexcept override {
    calls_.write_timestamp(static_cast<VkCommandBuffer>(place), VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, pool_, timer * 2);
    return true;
  }
  bool write_end(std::uint32_t timer, void* place) noexcept override {
    calls_.write_timestamp(static_cast<VkCommandBuffer>(place), VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool_,
                           timer * 2 + 1);
    return true;
  }

  [[nodiscard]] GpuAnswer ask(std::uint32_t timer, GpuTimes& times) noexcept override {
    std::array<Result, 2> results{};
    const VkResult told =
        calls_.get_results(device_, pool_, timer * 2, 2, sizeof results, results.data(), sizeof(Result),
                           VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
    is_lost_ = is_lost_ || told == VK_ERROR_DEVICE_LOST;
    if (told != VK_SUCCESS || results[0].is_available == 0 || results[1].is_available == 0) {
      return told == VK_SUCCESS || told == VK_NOT_READY ? GpuAnswer::pending : GpuAnswer::failed;
    }
    times = {results[0].ticks, results[1].ticks};
    return GpuAnswer::ready;
  }

  bool recycle(std::uint32_t timer, bool has_answered) noexcept override {
    GpuTimes late;
    // A query that a command buffer may still write to must not be reset.
    if (!has_answered && ask(timer, late) != GpuAnswer::ready) {
      return false;
    }
    if (calls_.reset_on_host != nullptr) {
      calls_.reset_on_host(device_, pool_, timer * 2, 2);
      return true;
    }
    if (resetting_ == nullptr) {
      return false;
    }
    calls_.reset_in_commands(resetting_, pool_, timer * 2, 2);
    return true;
  }

  [[nodiscard]] bool is_lost() noexcept override { return is_lost_; }

  void recycle_in(void* place) noexcept override { resetting_ = static_cast<VkCommandBuffer>(place); }

  /// Compares the clocks through a submission, waiting up to 100 ms. False if that takes longer or fails.
  bool calibrate() {
    const std::uint32_t query = most_pending_ * 2;
    VkCommandPoolCreateInfo pool_info{};
    pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool_info.flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
    pool_info.queueFamilyIndex = queue_family_;
    VkCommandPool commands_pool = VK_NULL_HANDLE;
    if (calls_.create_command_pool(device_, &pool_info, nullptr, &commands_pool) != VK_SUCCESS) {
      return false;
    }
    const bool has_run = run_once(commands_pool, query);
    if (!is_stuck_) {
      // Otherwise the GPU may still read it; it is left until the device is destroyed.
      calls_.destroy_command_pool(device_, commands_pool, nullptr);
    }
    return has_run;
  }

 private:
  struct Result {
    std::uint64_t ticks;
    std::uint64_t is_available;
  };
  struct Calls {
    PFN_vkCreateQueryPool create_query_pool = nullptr;
    PFN_vkDestroyQueryPool destroy_query_pool = nullptr;
    PFN_vkCmdWriteTimestamp write_timestamp = nullptr;
    PFN_vkGetQueryPoolResults get_results = nullptr;
    PFN_vkResetQueryPool reset_on_host = nullptr;  // null if not enabled
    PFN_vkCmdResetQueryPool reset_in_commands = nullptr;
    PFN_vkGetCalibratedTimestampsEXT get_calibrated = nullptr;  // null if not enabled
    PFN_vkCreateCommandPool create_command_pool = nullptr;
    PFN_vkDestroyCommandPool destroy_command_pool = nullptr;
    PFN_vkAllocateCommandBuffers allocate_command_buffers = nullptr;
    PFN_vkBeginCommandBuffer begin_command_buffer = nullptr;
    PFN_vkEndCommandBuffer end_command_buffer = nullptr;
    PFN_vkQueueSubmit queue_submit = nullptr;
    PFN_vkCreateFence create_fence = nullptr;
    PFN_vkDestroyFence destroy_fence = nullptr;
    PFN_vkWaitForFences wait_for_fences = nullptr;
  };
  static constexpr std::uint64_t longest_wait_ns = 100'000'000;

  [[nodiscard]] static std::int64_t now_ns() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  }

  /// Returns the reason of a failure; empty on success.
  [[nodiscard]] std::string set_up(const VulkanSetup& setup, std::uint32_t most_pending) {
    if (setup.instance == nullptr || setup.physical_device == nullptr || setup.device == nullptr ||
        setup.queue == nullptr || setup.get_instance_function == nullptr) {
      return "the Vulkan setup is not complete";
    }
    device_ = setup.device;
    queue_ = setup.queue;
    queue_family_ = setup.queue_family;
    most_pending_ = std::clamp(most_pending, 1U, GpuOptions::greatest_pending);
    std::string trouble = read_facts(setup);
    if (trouble.empty()) {
      trouble = find_functions(setup);
    }
    if (!trouble.empty()) {
      return trouble;
    }
    VkQueryPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = most_pending_ * 2 + 1;  // the last one is calibrate()'s
    if (calls_.create_query_pool(device_, &info, nullptr, &pool_) != VK_SUCCESS) {
      return "Vulkan made no pool of timestamp queries";
    }
    if (calls_.reset_on_host != nullptr) {
      calls_.reset_on_host(device_, pool_, 0, info.queryCount);
    }
    if ((calls_.reset_on_host == nullptr || calls_.get_calibrated == nullptr) && !calibrate()) {
      return "the queue did not run a first submission";
    }
    return {};
  }

  [[nodiscard]] std::string read_facts(const VulkanSetup& setup) {
    const auto get_families = reinterpret_cast<PFN_vkGetPhysicalDeviceQueueFamilyProperties>(
        setup.get_instance_function(setup.instance, "vkGetPhysicalDeviceQueueFamilyProperties"));
    const auto get_properties = reinterpret_cast<PFN_vkGetPhysicalDeviceProperties>(
        setup.get_instance_function(setup.instance, "vkGetPhysicalDeviceProperties"));
    if (get_families == nullptr || get_properties == nullptr) {
      return "this Vulkan lacks functions that every version has";
    }
    std::uint32_t count = 0;
    get_families(setup.physical_device, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    get_families(setup.physical_device, &count, families.data());
    if (setup.queue_family >= count) {
      return "there is no such queue family";
    }
    VkPhysicalDeviceProperties properties{};
    get_properties(setup.physical_device, &properties);
    facts_ = {static_cast<double>(properties.limits.timestampPeriod), families[setup.queue_family].timestampValidBits};
    if (facts_.valid_bits == 0 || !(facts_.ns_per_tick > 0)) {
      return "the time stamps of this Vulkan queue have no bits";
    }
    return {};
  }

  [[nodiscard]] std::string find_functions(const VulkanSetup& setup) {
    const auto get =
        reinterpret_cast<PFN_vkGetDeviceProcAddr>(setup.get_instance_function(setup.instance, "vkGetDeviceProcAddr"));
    const auto take = [&](const char* name, auto& function) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(get(setup.device, name));
      return function != nullptr;
    };
    if (get == nullptr || !take("vkCreateQueryPool", calls_.create_query_pool) ||
        !take("vkDestroyQueryPool", calls_.destroy_query_pool) ||
        !take("vkCmdWriteTimestamp", calls_.write_timestamp) || !take("vkGetQueryPoolResults", calls_.get_results) ||
        !take("vkCmdResetQueryPool", calls_.reset_in_commands) ||
        !take("vkCreateCommandPool", calls_.create_command_pool) ||
        !take("vkDestroyCommandPool", calls_.destroy_command_pool) ||
        !take("vkAllocateCommandBuffers", calls_.allocate_command_buffers) ||
        !take("vkBeginCommandBuffer", calls_.begin_command_buffer) ||
        !take("vkEndCommandBuffer", calls_.end_command_buffer) || !take("vkQueueSubmit", calls_.queue_submit) ||
        !take("vkCreateFence", calls_.create_fence) || !take("vkDestroyFence", calls_.destroy_fence) ||
        !take("vkWaitForFences", calls_.wait_for_fences)) {
      return "this Vulkan device lacks functions that every version has";
    }
    if (setup.has_host_query_reset && !take("vkResetQueryPool", calls_.reset_on_host)) {
      take("vkResetQueryPoolEXT", calls_.reset_on_host);
    }
    if (setup.has_calibrated_timestamps && !take("vkGetCalibratedTimestampsEXT", calls_.get_calibrated)) {
      take("vkGetCalibratedTimestampsKHR", calls_.get_calibrated);
    }
    if (calls_.get_calibrated != nullptr) {
      has_monotonic_ = tells_monotonic(setup);
    }
    return {};
  }

  [[nodiscard]] static bool tells_monotonic(const VulkanSetup& setup) {
    auto get_domains = reinterpret_cast<PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT>(
        setup.get_instance_function(setup.instance, "vkGetPhysicalDeviceCalibrateableTimeDomainsEXT"));
    if (get_domains == nullptr) {
      get_domains = reinterpret_cast<PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT>(
          setup.get_instance_function(setup.instance, "vkGetPhysicalDeviceCalibrateableTimeDomainsKHR"));
    }
    std::uint32_t count = 0;
    if (get_domains == nullptr || get_domains(setup.physical_device, &count, nullptr) != VK_SUCCESS) {
      return false;
    }
    std::vector<VkTimeDomainEXT> domains(count);
    get_domains(setup.physical_device, &count, domains.data());
    for (const VkTimeDomainEXT domain : domains) {
      if (domain == VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT) {
        return true;
      }
    }
    return false;
  }

  /// Resets the query and has a time stamp written between two readings of the processor's clock.
  [[nodiscard]] bool run_once(VkCommandPool commands_pool, std::uint32_t query) {
    VkCommandBufferAllocateInfo allocation{};
    allocation.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    allocation.commandPool = commands_pool;
    allocation.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    allocation.commandBufferCount = 1;
    VkCommandBuffer commands = nullptr;
    VkCommandBufferBeginInfo begin{};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    VkFenceCreateInfo fence_info{};
    fence_info.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    VkFence fence = VK_NULL_HANDLE;
    if (calls_.allocate_command_buffers(device_, &allocation, &commands) != VK_SUCCESS ||
        calls_.begin_command_buffer(commands, &begin) != VK_SUCCESS) {
      return false;
    }
    // The first call resets all queries: they are uninitialised.
    calls_.reset_in_commands(commands, pool_, is_first_ ? 0 : query, is_first_ ? query + 1 : 1);
    calls_.write_timestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool_, query);
    if (calls_.end_command_buffer(commands) != VK_SUCCESS ||
        calls_.create_fence(device_, &fence_info, nullptr, &fence) != VK_SUCCESS) {
      return false;
    }
    VkSubmitInfo submit{};
    submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &commands;
    const std::int64_t before = now_ns();
    const bool is_submitted = calls_.queue_submit(queue_, 1, &submit, fence) == VK_SUCCESS;
    const bool has_run =
        is_submitted && calls_.wait_for_fences(device_, 1, &fence, VK_TRUE, longest_wait_ns) == VK_SUCCESS;
    const std::int64_t after = now_ns();
    is_stuck_ = is_submitted && !has_run;
    if (!is_stuck_) {
      calls_.destroy_fence(device_, fence, nullptr);
    }
    Result result{};
    if (!has_run ||
        calls_.get_results(device_, pool_, query, 1, sizeof result, &result, sizeof result,
                           VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT) != VK_SUCCESS ||
        result.is_available == 0) {
      return false;
    }
    is_first_ = false;
    waited_pair_ = GpuClockPair{result.ticks, before + (after - before) / 2, (after - before + 1) / 2};
    return true;
  }

  Calls calls_;
  GpuClockFacts facts_;
  VkDevice device_ = nullptr;
  VkQueue queue_ = nullptr;
  std::uint32_t queue_family_ = 0;
  std::uint32_t most_pending_ = 0;
  VkQueryPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer resetting_ = nullptr;
  std::optional<GpuClockPair> waited_pair_;  // from calibrate(), not yet returned
  bool has_monotonic_ = false;
  bool is_first_ = true;
  bool is_stuck_ = false;
  bool is_lost_ = false;
};

}  // namespace detail

/// Times the work of one Vulkan queue. Must be destroyed before the device, after the work recorded with it has run.
/// The track is called "GPU Vulkan", unless GpuOptions::track names it: give each queue its own.
///
/// A scope belongs to one command buffer that is submitted once; if it is submitted again, the times are those of the
/// first submission. Each scope takes two queries of a pool of 2 x GpuOptions::most_pending.
class VulkanContext : public GpuContext {
 public:
  /// If has_host_query_reset or has_calibrated_timestamps is false, this submits to the queue once and waits. The queue
  /// must not be in use elsewhere meanwhile.
  explicit VulkanContext(const VulkanSetup& setup, const GpuOptions& options = {})
      : GpuContext(detail::VulkanDriver::make(setup, options.most_pending), options) {}

  /// A command buffer in the recording state, for KYMO_GPU_SCOPE.
  [[nodiscard]] GpuPlace on(VkCommandBuffer commands) noexcept { return {*this, commands}; }

  using GpuContext::collect;
  /// collect() that also resets queries in a command buffer. The command buffer must be in the recording state, outside
  /// of a render pass, and must be submitted before those that later scopes are recorded into. Needed only without
  /// hostQueryReset.
  void collect(VkCommandBuffer commands) noexcept { collect_in(commands); }

  /// Compares the clocks through an empty submission and waits for it. For use without VK_EXT_calibrated_timestamps.
  /// Neither the queue nor this context may be in use elsewhere meanwhile. False if it takes longer than 100 ms or
  /// fails.
  bool calibrate() {
    auto* const vulkan = static_cast<detail::VulkanDriver*>(driver());
    return vulkan != nullptr && vulkan->calibrate();
  }
};

}  // namespace kymo
