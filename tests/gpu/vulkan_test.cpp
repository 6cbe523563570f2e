// GPU scopes of Vulkan on a driver that computes without a GPU.
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>

#include <kymo/gpu_vulkan.hpp>

#include "base/system/clock.hpp"
#include "gpu/recorded_gpu.hpp"
#include "gpu/vulkan_device.hpp"

namespace kymo {
namespace {

using test::fence_ns;
using test::GpuRecording;
using test::GpuSpan;

class VulkanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      device_ = std::make_unique<test::VulkanTestDevice>();
    } catch (const std::runtime_error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  /// Scopes one after the other, each between two fences; its times lie between them, give or take the bound.
  void expect_times_between_fences(VulkanContext& vulkan, bool recycles_in_commands) {
    ASSERT_TRUE(vulkan.is_working());
    struct Fence {
      std::int64_t before = 0;
      std::int64_t after = 0;
    };
    std::vector<Fence> fences;
    for (int i = 0; i < 20; ++i) {
      Fence fence{base::monotonic_now_ns(), 0};
      VkCommandBuffer const commands = device_->begin();
      if (recycles_in_commands) {
        vulkan.collect(commands);
      }
      {
        KYMO_GPU_SCOPE(vulkan.on(commands), "work", {"number", i});
        device_->fill(commands);
      }
      device_->run(commands);
      fence.after = base::monotonic_now_ns();
      fences.push_back(fence);
      if (!recycles_in_commands) {
        vulkan.collect();
      }
    }
    ASSERT_TRUE(vulkan.flush(std::chrono::seconds(30)));
    const std::vector<GpuSpan> spans = test::named(recording_.spans(), "work");
    ASSERT_EQ(spans.size(), fences.size());
    for (const GpuSpan& span : spans) {
      const Fence& fence = fences[static_cast<std::size_t>(span.number("number"))];
      const std::int64_t bound = span.number("clock_bound_ns");
      EXPECT_EQ(span.track, "GPU Vulkan");
      EXPECT_GE(span.start_ns, fence.before - bound - fence_ns);
      EXPECT_LE(span.end_ns(), fence.after + bound + fence_ns);
      EXPECT_GT(span.duration_ns, 0);
    }
    EXPECT_EQ(vulkan.counts().unresolved, 0U);
  }

  std::unique_ptr<test::VulkanTestDevice> device_;
  GpuRecording recording_;
};

TEST_F(VulkanTest, TimesLieBetweenFencesAroundTheWork) {
  GpuOptions options;
  options.most_pending = 4;  // so that queries are used again
  VulkanContext vulkan(device_->setup(), options);
  expect_times_between_fences(vulkan, false);
}

TEST_F(VulkanTest, CalibratedTimesAreTighterThanTheGoal) {
  VulkanContext vulkan(device_->setup());
  std::int64_t best = INT64_MAX;
  for (int i = 0; i < 2000 && best > fence_ns; ++i) {
    VkCommandBuffer const commands = device_->begin();
    {
      KYMO_GPU_SCOPE(vulkan.on(commands), "work");
      device_->fill(commands);
    }
    device_->run(commands);
    ASSERT_TRUE(vulkan.flush(std::chrono::seconds(30)));
    best = recording_.spans().back().number("clock_bound_ns");
  }
  EXPECT_LE(best, fence_ns);
}

TEST_F(VulkanTest, WithoutExtensionsQueriesAreResetInCommandsAndTheBoundIsTold) {
  VulkanSetup setup = device_->setup();
  setup.has_host_query_reset = false;
  setup.has_calibrated_timestamps = false;
  GpuOptions options;
  options.most_pending = 4;
  VulkanContext vulkan(setup, options);
  expect_times_between_fences(vulkan, true);
  EXPECT_TRUE(vulkan.calibrate());
}

TEST_F(VulkanTest, WithoutHostResetAndWithoutACommandBufferTimersRunOutAndNothingBreaks) {
  VulkanSetup setup = device_->setup();
  setup.has_host_query_reset = false;
  GpuOptions options;
  options.most_pending = 2;
  ::testing::internal::CaptureStderr();
  VulkanContext vulkan(setup, options);
  for (int i = 0; i < 4; ++i) {
    VkCommandBuffer const commands = device_->begin();
    { KYMO_GPU_SCOPE(vulkan.on(commands), "work"); }
    device_->run(commands);
    vulkan.collect();
  }
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("too many scopes wait"), std::string::npos);
  EXPECT_EQ(vulkan.counts().resolved, 2U);
  EXPECT_EQ(vulkan.counts().unresolved, 2U);
}

TEST_F(VulkanTest, ACommandBufferThatIsNeverSubmittedIsGivenUpAndHoldsNoOtherUp) {
  GpuOptions options;
  options.patience = std::chrono::milliseconds(50);
  ::testing::internal::CaptureStderr();
  VulkanContext vulkan(device_->setup(), options);
  VkCommandBuffer const never = device_->begin();
  { KYMO_GPU_SCOPE(vulkan.on(never), "never"); }
  VkCommandBuffer const commands = device_->begin();
  { KYMO_GPU_SCOPE(vulkan.on(commands), "work"); }
  device_->run(commands);
  EXPECT_TRUE(vulkan.flush(std::chrono::seconds(30)));
  static_cast<void>(::testing::internal::GetCapturedStderr());
  EXPECT_EQ(test::named(recording_.spans(), "work").size(), 1U);
  EXPECT_EQ(test::named(recording_.spans(), "never (unresolved)").size(), 1U);
}

TEST_F(VulkanTest, AScopeWithinAnotherLiesWithinItOnTheGpu) {
  VulkanContext vulkan(device_->setup());
  VkCommandBuffer const commands = device_->begin();
  {
    KYMO_GPU_SCOPE(vulkan.on(commands), "outer");
    device_->fill(commands);
    KYMO_GPU_SCOPE(vulkan.on(commands), "inner");
    device_->fill(commands);
  }
  device_->run(commands);
  ASSERT_TRUE(vulkan.flush(std::chrono::seconds(30)));
  const std::vector<GpuSpan> spans = recording_.spans();
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].name, "inner");
  EXPECT_LE(spans[1].start_ns, spans[0].start_ns);
  EXPECT_GE(spans[1].end_ns() + 1, spans[0].end_ns());
}

// ---- Vulkan as it should not be ----

/// The driver's own functions, but for those that a test replaces.
PFN_vkGetInstanceProcAddr real_function = nullptr;
PFN_vkGetDeviceProcAddr real_device_function = nullptr;
std::uint32_t replaced_bits = 64;
VkResult replaced_result = VK_SUCCESS;
std::string missing;

void VKAPI_CALL get_families(VkPhysicalDevice device, std::uint32_t* count, VkQueueFamilyProperties* families) {
  void* const library = ::dlopen("libvulkan.so.1", RTLD_NOW);
  reinterpret_cast<PFN_vkGetPhysicalDeviceQueueFamilyProperties>(
      ::dlsym(library, "vkGetPhysicalDeviceQueueFamilyProperties"))(device, count, families);
  for (std::uint32_t i = 0; families != nullptr && i < *count; ++i) {
    families[i].timestampValidBits = replaced_bits;
  }
}
VkResult VKAPI_CALL get_results(VkDevice /*device*/, VkQueryPool /*pool*/, std::uint32_t /*first*/,
                                std::uint32_t /*count*/, std::size_t /*size*/, void* /*data*/, VkDeviceSize /*stride*/,
                                VkQueryResultFlags /*flags*/) {
  return replaced_result;
}
PFN_vkVoidFunction VKAPI_CALL get_device_function(VkDevice device, const char* name) {
  if (missing == name) {
    return nullptr;
  }
  return replaced_result != VK_SUCCESS && std::string(name) == "vkGetQueryPoolResults"
             ? reinterpret_cast<PFN_vkVoidFunction>(get_results)
             : real_device_function(device, name);
}
PFN_vkVoidFunction VKAPI_CALL get_instance_function(VkInstance instance, const char* name) {
  const std::string wanted = name;
  if (wanted == "vkGetPhysicalDeviceQueueFamilyProperties") {
    return reinterpret_cast<PFN_vkVoidFunction>(get_families);
  }
  if (wanted == "vkGetDeviceProcAddr") {
    real_device_function = reinterpret_cast<PFN_vkGetDeviceProcAddr>(real_function(instance, name));
    return reinterpret_cast<PFN_vkVoidFunction>(get_device_function);
  }
  return real_function(instance, name);
}

class VulkanBadDayTest : public VulkanTest {
 protected:
  void SetUp() override {
    ::testing::internal::CaptureStderr();
    VulkanTest::SetUp();
    replaced_bits = 64;
    replaced_result = VK_SUCCESS;
    missing.clear();
    if (device_ != nullptr) {
      setup_ = device_->setup();
      real_function = setup_.get_instance_function;
      setup_.get_instance_function = get_instance_function;
    }
  }
  void TearDown() override { static_cast<void>(::testing::internal::GetCapturedStderr()); }

  std::string reason() {
    VulkanContext vulkan(setup_);
    EXPECT_FALSE(vulkan.is_working());
    VkCommandBuffer const commands = device_->begin();
    { KYMO_GPU_SCOPE(vulkan.on(commands), "work"); }
    device_->run(commands);
    EXPECT_FALSE(vulkan.calibrate());
    const std::vector<GpuSpan> spans = recording_.spans();
    return spans.empty() ? "" : spans.back().arguments.at("unresolved");
  }

  VulkanSetup setup_;
};

TEST_F(VulkanBadDayTest, TimeStampsOfZeroValidBits) {
  replaced_bits = 0;
  EXPECT_EQ(reason(), "the time stamps of this Vulkan queue have no bits");
}

TEST_F(VulkanBadDayTest, AQueueFamilyThatIsNotThere) {
  setup_.queue_family = 77;
  EXPECT_EQ(reason(), "there is no such queue family");
}

TEST_F(VulkanBadDayTest, AnIncompleteSetup) {
  setup_.queue = nullptr;
  EXPECT_EQ(reason(), "the Vulkan setup is not complete");
}

TEST_F(VulkanBadDayTest, FunctionsThatAreNotThere) {
  missing = "vkCmdWriteTimestamp";
  EXPECT_EQ(reason(), "this Vulkan device lacks functions that every version has");
}

TEST_F(VulkanBadDayTest, FewValidBitsAreUnwrapped) {
  replaced_bits = 36;  // a turn lasts 69 s; the driver gives 64
  VulkanContext vulkan(setup_);
  expect_times_between_fences(vulkan, false);
}

TEST_F(VulkanBadDayTest, AnExtensionThatIsSaidToBeThereAndIsNotIsDoneWithout) {
  missing = "vkGetCalibratedTimestampsEXT";
  VulkanContext vulkan(setup_);
  expect_times_between_fences(vulkan, false);
}

TEST_F(VulkanBadDayTest, ALostDeviceTakesItsScopesWithIt) {
  replaced_result = VK_ERROR_DEVICE_LOST;
  VulkanContext vulkan(setup_);
  VkCommandBuffer const commands = device_->begin();
  { KYMO_GPU_SCOPE(vulkan.on(commands), "work"); }
  device_->run(commands);
  vulkan.collect();
  vulkan.collect();
  EXPECT_FALSE(vulkan.is_working());
  EXPECT_EQ(vulkan.counts().unresolved, 1U);
  EXPECT_EQ(vulkan.counts().pending, 0U);
}

}  // namespace
}  // namespace kymo
