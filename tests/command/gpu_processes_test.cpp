// The processes of GPUs that kymo top lists, on a stand-in of NVIDIA's library.
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "apps/kymo/sensors/process_list.hpp"
#include "sense/fake_nvml.hpp"

namespace kymo::test {
namespace {

TEST(GpuProcesses, HaveTheirMemoryAndTheirShareOfTheGpusTime) {
  void* const handle = ::dlopen(FAKE_NVML, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(handle, nullptr) << ::dlerror();
  FakeNvml& fake = *reinterpret_cast<FakeControl>(::dlsym(handle, fake_control_name))();
  fake.reset();
  const auto self = static_cast<unsigned>(::getpid());
  fake.process = self;
  fake.other_processes = 1;
  const command::ProcessList names("/");
  const command::GpuProcessList list(FAKE_NVML);
  const auto own = [&] {
    const std::vector<command::TopGpuProcess> processes = list.look(names);
    EXPECT_EQ(processes.size(), 3U) << "one more on each GPU";
    const auto found = std::find_if(processes.begin(), processes.end(),
                                    [self](const command::TopGpuProcess& process) { return process.pid == self; });
    EXPECT_NE(found, processes.end());
    return *found;
  };
  EXPECT_EQ(own().gpu, 1U);
  EXPECT_EQ(own().bytes, std::uint64_t{3} << 30U);
  EXPECT_NE(own().name, "");
  EXPECT_EQ(own().percent, 0) << "it has memory and computes nothing";
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  fake.share = 50;
  fake.share_time = static_cast<unsigned long long>(std::chrono::microseconds(std::chrono::minutes(1)).count() +
                                                    std::chrono::duration_cast<std::chrono::microseconds>(now).count());
  EXPECT_EQ(own().percent, 45) << "the mean of two samples";
  fake.fail(1, FakeCall::shares, 3);
  EXPECT_FALSE(own().percent.has_value());
  ::dlclose(handle);
}

}  // namespace
}  // namespace kymo::test
