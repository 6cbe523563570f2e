// A Vulkan device without a window, for tests and benchmarks.
#pragma once

#include <dlfcn.h>
#include <stdexcept>
#include <string>

#include <kymo/gpu_vulkan.hpp>

namespace kymo::test {

inline void check(VkResult result, const char* what) {
  if (result != VK_SUCCESS) {
    throw std::runtime_error(std::string(what) + ": error " + std::to_string(result));
  }
}

/// A device with a queue and a buffer to fill, without a window.
class VulkanTestDevice {
 public:
  VulkanTestDevice() {
    // Mesa's software driver keeps memory of its own when it is unloaded, which leak checkers find: it stays loaded.
    static_cast<void>(::dlopen("libvulkan_lvp.so", RTLD_LAZY | RTLD_NODELETE));
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
  VulkanTestDevice(const VulkanTestDevice&) = delete;
  VulkanTestDevice& operator=(const VulkanTestDevice&) = delete;
  ~VulkanTestDevice() {
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

  template <typename Function>
  [[nodiscard]] Function of_instance(const char* name) const {
    return reinterpret_cast<Function>(setup_.get_instance_function(setup_.instance, name));
  }
  template <typename Function>
  [[nodiscard]] Function of_device(const char* name) const {
    return reinterpret_cast<Function>(of_instance<PFN_vkGetDeviceProcAddr>("vkGetDeviceProcAddr")(setup_.device, name));
  }

 private:
  static constexpr VkDeviceSize bytes = 4 << 20;

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

}  // namespace kymo::test
