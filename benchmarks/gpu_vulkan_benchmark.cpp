// GPU scopes of Vulkan compared with vkCmdWriteTimestamp alone, on the first device.
#include <array>
#include <cstdint>
#include <memory>

#include <kymo/gpu_vulkan.hpp>

#include "gpu/vulkan_device.hpp"
#include "gpu_scopes.hpp"

namespace kymo::benchmarks {

namespace {

using test::VulkanTestDevice;

/// A pair of queries per scope, read and reset by hand.
class BareQueries {
 public:
  explicit BareQueries(const VulkanTestDevice& device) : device_(device) {
    VkQueryPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = 2 * scopes_a_frame;
    device.of_device<PFN_vkCreateQueryPool>("vkCreateQueryPool")(handle(), &info, nullptr, &pool_);
    reset_(handle(), pool_, 0, info.queryCount);
    commands_ = device.begin();
  }
  BareQueries(const BareQueries&) = delete;
  BareQueries& operator=(const BareQueries&) = delete;
  ~BareQueries() { device_.of_device<PFN_vkDestroyQueryPool>("vkDestroyQueryPool")(handle(), pool_, nullptr); }

  void issue(std::size_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      write_(commands_, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, pool_, i * 2);
      keep();
      write_(commands_, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool_, i * 2 + 1);
    }
  }
  void finish() {
    device_.run(commands_);
    commands_ = device_.begin();
  }
  void fetch() {
    for (std::uint32_t i = 0; i < scopes_a_frame; ++i) {
      std::array<std::uint64_t, 4> results{};
      get_(handle(), pool_, i * 2, 2, sizeof results, results.data(), 2 * sizeof(std::uint64_t),
           VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
      benchmark::DoNotOptimize(results);
      reset_(handle(), pool_, i * 2, 2);
    }
  }

 private:
  [[nodiscard]] VkDevice handle() const { return device_.setup().device; }

  const VulkanTestDevice& device_;
  PFN_vkCmdWriteTimestamp write_ = device_.of_device<PFN_vkCmdWriteTimestamp>("vkCmdWriteTimestamp");
  PFN_vkGetQueryPoolResults get_ = device_.of_device<PFN_vkGetQueryPoolResults>("vkGetQueryPoolResults");
  PFN_vkResetQueryPool reset_ = device_.of_device<PFN_vkResetQueryPool>("vkResetQueryPool");
  VkQueryPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = nullptr;
};

class GpuScopes {
 public:
  explicit GpuScopes(const VulkanTestDevice& device)
      : device_(device), vulkan_(device.setup()), commands_(device.begin()) {}

  void issue(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      KYMO_GPU_SCOPE(vulkan_.on(commands_), "scope");
      keep();
    }
  }
  void finish() {
    device_.run(commands_);
    commands_ = device_.begin();
  }
  void fetch() { vulkan_.collect(); }
  [[nodiscard]] GpuScopeCounts counts() const { return vulkan_.counts(); }

 private:
  const VulkanTestDevice& device_;
  VulkanContext vulkan_;
  VkCommandBuffer commands_;
};

void gpu_vulkan(benchmark::State& state) {
  for (auto _ : state) {
    try {
      const VulkanTestDevice device;
      Recording recording;
      BareQueries bare(device);
      GpuScopes scopes(device);
      compare_sides(state, bare, scopes);
      if (scopes.counts().resolved != scopes_a_frame * frames) {
        state.SkipWithError("not every GPU scope was resolved");
      }
    } catch (const std::exception& failure) {
      state.SkipWithError(failure.what());
    }
  }
}
BENCHMARK(gpu_vulkan)->Iterations(1)->Repetitions(5)->Unit(benchmark::kMillisecond);

}  // namespace

}  // namespace kymo::benchmarks

BENCHMARK_MAIN();
