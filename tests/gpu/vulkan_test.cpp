// GPU scopes of Vulkan on a driver that computes without a GPU.
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>

#include <kymo/gpu_vulkan.hpp>

#include "gpu/monotonic.hpp"
#include "gpu/recorded_gpu.hpp"

namespace kymo {
namespace {

using test::fence_ns;
using test::GpuRecording;
using test::GpuSpan;

constexpr VkDeviceSize bytes = 4 << 20;

void check(VkResult result, const char* what) {
  if (result != VK_SUCCESS) {
    throw std::runtime_error(std::string(what) + ": error " + std::to_string(result));
  }
}

/// A device with a queue and a buffer to fill, without a window.
class Device {
 public:
  Device() {
    void* const library = ::dlopen("libvulkan.so.1", RTLD_NOW);
    if (library == nullptr) {
      throw std::runtime_error("libvulkan.so.1 is not here (Debian: libvulkan1)");
    }
    setup_.get_instance_function =
        reinterpret_cast<PFN_vkGetInstanceProcAddr>(::dlsym(library, "vkGetInstanceProcAddr"));
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = VK_API_VERSION_1_2;
    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    check(of_instance<PFN_vkCreateInstance>("vkCreateInstance")(&info, nullptr, &setup_.instance), "vkCreateInstance");
    std::uint32_t count = 1;
    const VkResult found = of_instance<PFN_vkEnumeratePhysicalDevices>("vkEnumeratePhysicalDevices")(
        setup_.instance, &count, &setup_.physical_device);
    if ((found != VK_SUCCESS && found != VK_INCOMPLETE) || count == 0) {
      throw std::runtime_error("Vulkan finds no device (Debian: mesa-vulkan-drivers)");
    }
    make_device();
    make_buffer();
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() {
    of_device<PFN_vkDeviceWaitIdle>("vkDeviceWaitIdle")(setup_.device);
    of_device<PFN_vkDestroyFence>("vkDestroyFence")(setup_.device, fence_, nullptr);
    of_device<PFN_vkDestroyCommandPool>("vkDestroyCommandPool")(setup_.device, pool_, nullptr);
    of_device<PFN_vkDestroyBuffer>("vkDestroyBuffer")(setup_.device, buffer_, nullptr);
    of_device<PFN_vkFreeMemory>("vkFreeMemory")(setup_.device, memory_, nullptr);
    of_device<PFN_vkDestroyDevice>("vkDestroyDevice")(setup_.device, nullptr);
    of_instance<PFN_vkDestroyInstance>("vkDestroyInstance")(setup_.instance, nullptr);
  }

  [[nodiscard]] const VulkanSetup& setup() const { return setup_; }

  [[nodiscard]] VkCommandBuffer begin() const {
    VkCommandBufferAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandPool = pool_;
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    VkCommandBuffer commands = nullptr;
    check(of_device<PFN_vkAllocateCommandBuffers>("vkAllocateCommandBuffers")(setup_.device, &info, &commands),
          "allocate");
    VkCommandBufferBeginInfo begin{};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    check(of_device<PFN_vkBeginCommandBuffer>("vkBeginCommandBuffer")(commands, &begin), "begin");
    return commands;
  }
  void fill(VkCommandBuffer commands) const {
    of_device<PFN_vkCmdFillBuffer>("vkCmdFillBuffer")(commands, buffer_, 0, bytes, 7);
  }
  /// Submits, and waits until it has run.
  void run(VkCommandBuffer commands) const {
    check(of_device<PFN_vkEndCommandBuffer>("vkEndCommandBuffer")(commands), "end");
    VkSubmitInfo submit{};
    submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &commands;
    check(of_device<PFN_vkQueueSubmit>("vkQueueSubmit")(setup_.queue, 1, &submit, fence_), "submit");
    check(of_device<PFN_vkWaitForFences>("vkWaitForFences")(setup_.device, 1, &fence_, VK_TRUE, 30'000'000'000),
          "wait");
    check(of_device<PFN_vkResetFences>("vkResetFences")(setup_.device, 1, &fence_), "reset");
  }

 private:
  template <typename Function>
  [[nodiscard]] Function of_instance(const char* name) const {
    return reinterpret_cast<Function>(setup_.get_instance_function(setup_.instance, name));
  }
  template <typename Function>
  [[nodiscard]] Function of_device(const char* name) const {
    return reinterpret_cast<Function>(of_instance<PFN_vkGetDeviceProcAddr>("vkGetDeviceProcAddr")(setup_.device, name));
  }

  void make_device() {
    const float priority = 1;
    VkDeviceQueueCreateInfo queue{};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkPhysicalDeviceVulkan12Features features{};
    features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    features.hostQueryReset = VK_TRUE;
    const char* const extension = VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME;
    VkDeviceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = &features;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = &extension;
    check(of_instance<PFN_vkCreateDevice>("vkCreateDevice")(setup_.physical_device, &info, nullptr, &setup_.device),
          "vkCreateDevice");
    setup_.has_host_query_reset = true;
    setup_.has_calibrated_timestamps = true;
    of_device<PFN_vkGetDeviceQueue>("vkGetDeviceQueue")(setup_.device, 0, 0, &setup_.queue);
    VkCommandPoolCreateInfo pool{};
    pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    check(of_device<PFN_vkCreateCommandPool>("vkCreateCommandPool")(setup_.device, &pool, nullptr, &pool_), "pool");
    VkFenceCreateInfo fence{};
    fence.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    check(of_device<PFN_vkCreateFence>("vkCreateFence")(setup_.device, &fence, nullptr, &fence_), "fence");
  }

  void make_buffer() {
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = bytes;
    info.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    check(of_device<PFN_vkCreateBuffer>("vkCreateBuffer")(setup_.device, &info, nullptr, &buffer_), "buffer");
    VkMemoryRequirements needs{};
    of_device<PFN_vkGetBufferMemoryRequirements>("vkGetBufferMemoryRequirements")(setup_.device, buffer_, &needs);
    VkMemoryAllocateInfo allocation{};
    allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    allocation.allocationSize = needs.size;
    while ((needs.memoryTypeBits >> allocation.memoryTypeIndex & 1U) == 0) {
      ++allocation.memoryTypeIndex;
    }
    check(of_device<PFN_vkAllocateMemory>("vkAllocateMemory")(setup_.device, &allocation, nullptr, &memory_), "memory");
    check(of_device<PFN_vkBindBufferMemory>("vkBindBufferMemory")(setup_.device, buffer_, memory_, 0), "bind");
  }

  VulkanSetup setup_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
};

class VulkanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      device_ = std::make_unique<Device>();
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
      Fence fence{gpu::monotonic_ns(), 0};
      VkCommandBuffer const commands = device_->begin();
      if (recycles_in_commands) {
        vulkan.collect(commands);
      }
      {
        KYMO_GPU_SCOPE(vulkan.on(commands), "work", {"number", i});
        device_->fill(commands);
      }
      device_->run(commands);
      fence.after = gpu::monotonic_ns();
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

  std::unique_ptr<Device> device_;
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
