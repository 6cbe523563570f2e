// Instrumented code of every kind, called and recorded. The test itself is not instrumented; the archive in it is.
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <kymo/kymo.hpp>

#include "filtered_functions.hpp"
#include "hooked_functions.hpp"
#include "recorded_scopes.hpp"
#include "unoptimised_functions.hpp"

// As the compiler calls them.
extern "C" void __cyg_profile_func_enter(void* function, void* call_site);
extern "C" void __cyg_profile_func_exit(void* function, void* call_site);

namespace {

void hooks_enter(void* function) {
  __cyg_profile_func_enter(function, nullptr);
}
void hooks_exit(void* function) {
  __cyg_profile_func_exit(function, nullptr);
}

using Lines = std::vector<std::string>;

TEST(Hooks, NestedCallsAreNestedScopes) {
  Recording recording;
  hooked::outer(1);
  recording.stop();
  EXPECT_EQ(recording.outline(),
            (Lines{"hooked::outer", "  hooked::middle", "    hooked::leaf", "  hooked::middle", "    hooked::leaf"}));
}

TEST(Hooks, RecordNothingWhileRecordingIsOff) {
  hooked::outer(1);
  Recording recording;
  recording.stop();
  hooked::outer(1);
  EXPECT_EQ(recording.scopes().size(), 0U);
}

TEST(Hooks, SitesTellNameSignatureModuleAndOffset) {
  Recording recording;
  hooked::leaf(1);
  recording.stop();
  ASSERT_EQ(recording.scopes().size(), 1U);
  const kymo::SiteDeclaration& site = recording.scopes()[0].site;
  EXPECT_EQ(site.kind, kymo::SiteKind::hooked);
  EXPECT_EQ(site.name, "hooked::leaf");
  EXPECT_EQ(site.function, "hooked::leaf(int)");
  Dl_info known{};
  const auto address = reinterpret_cast<std::uintptr_t>(&hooked::leaf);
  ASSERT_NE(dladdr(reinterpret_cast<void*>(address), &known), 0);
  const kymo::ModuleDeclaration* const module = recording.module(site.module);
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->path, known.dli_fname);
  EXPECT_EQ(module->load_base, reinterpret_cast<std::uintptr_t>(known.dli_fbase));
  EXPECT_EQ(site.module_offset, address - module->load_base);
  EXPECT_LT(site.module_offset, module->size);
}

TEST(Hooks, RecursionKeepsItsDepth) {
  Recording recording;
  EXPECT_EQ(hooked::recursive(100), 100);
  EXPECT_EQ(hooked::ping(99), 99);
  recording.stop();
  ASSERT_EQ(recording.scopes().size(), 201U);
  for (std::size_t i = 0; i <= 100; ++i) {
    EXPECT_EQ(recording.scopes()[i].site.name, "hooked::recursive");
    EXPECT_EQ(recording.scopes()[i].depth, i);
    EXPECT_TRUE(recording.scopes()[i].is_closed);
  }
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(recording.scopes()[101 + i].site.name, i % 2 == 0 ? "hooked::ping" : "hooked::pong");
    EXPECT_EQ(recording.scopes()[101 + i].depth, i);
  }
}

TEST(Hooks, RecursionDeeperThanAChunkIsRecordedOrCounted) {
  constexpr int calls = 20'000;
  std::thread([] { hooked::leaf(0); }).join();
  Recording recording;
  std::thread([] {
    hooked::recursive(calls - 1);
    hooked::leaf(1);
  }).join();
  recording.stop();
  EXPECT_EQ(recording.count("hooked::recursive") + recording.dropped(), static_cast<std::size_t>(calls));
  EXPECT_GE(recording.count("hooked::recursive"), 5000U);
  const RecordedScope* const after = recording.find("hooked::leaf");
  ASSERT_NE(after, nullptr);
  EXPECT_EQ(after->depth, 0U);
  for (const RecordedScope& scope : recording.scopes()) {
    ASSERT_TRUE(scope.is_closed);
  }
}

/// Runs `body` on a thread with room for very deep recursion.
void run_with_much_stack(void* (*body)(void*)) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::size_t{256} << 20U);
  pthread_t thread{};
  ASSERT_EQ(pthread_create(&thread, &attributes, body, nullptr), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

constexpr int deep_calls = 60'000;
constexpr int calls_around_argument = 3'000;

/// Calls itself as a hooked function would.
[[gnu::noinline]] int recurse(int depth) {
  hooks_enter(reinterpret_cast<void*>(&hooked::recursive));
  const int below = depth < deep_calls ? recurse(depth + 1) : 0;
  if (depth == calls_around_argument) {
    KYMO_ARG("value", 42);
  }
  hooks_exit(reinterpret_cast<void*>(&hooked::recursive));
  return below + 1;
}

TEST(Hooks, RecursionDeeperThanTheFramesClosesEachScopeAtItsOwnExit) {
  Recording recording;
  run_with_much_stack([](void*) -> void* {
    recurse(1);
    hooked::leaf(1);
    return nullptr;
  });
  recording.stop();
  ASSERT_GT(recording.scopes().size(), std::size_t{calls_around_argument});
  EXPECT_EQ(recording.scopes()[calls_around_argument - 1].arguments, std::vector<std::int64_t>{42});
  EXPECT_EQ(recording.scopes().size() + recording.dropped(), std::size_t{deep_calls} + 1);
  EXPECT_EQ(recording.find("hooked::leaf")->depth, 0U);
  for (const RecordedScope& scope : recording.scopes()) {
    ASSERT_TRUE(scope.is_closed);
  }
}

volatile bool jumps = true;  // else GCC 12 takes what never returns for endless recursion

/// Leaves all calls by a jump.
[[gnu::noinline]] int recurse_and_jump(std::jmp_buf& back, int depth) {
  hooks_enter(reinterpret_cast<void*>(&hooked::recursive));
  int below = 0;
  if (depth < deep_calls) {
    below = recurse_and_jump(back, depth + 1);
  } else if (jumps) {
    std::longjmp(back, 1);
  }
  hooks_exit(reinterpret_cast<void*>(&hooked::recursive));
  return below + 1;
}

TEST(Hooks, AJumpOutOfRecursionDeeperThanTheFramesEndsWhatItSkips) {
  Recording recording;
  run_with_much_stack([](void*) -> void* {
    hooks_enter(reinterpret_cast<void*>(&hooked::outer));
    std::jmp_buf back;
    if (setjmp(back) == 0) {
      recurse_and_jump(back, 1);
    }
    hooks_exit(reinterpret_cast<void*>(&hooked::outer));
    hooked::leaf(1);
    return nullptr;
  });
  recording.stop();
  ASSERT_NE(recording.find("hooked::leaf"), nullptr);
  EXPECT_EQ(recording.find("hooked::leaf")->depth, 0U);
  EXPECT_EQ(recording.scopes().size() + recording.dropped(), std::size_t{deep_calls} + 2);
}

TEST(Hooks, ExceptionsEndEveryScopeThatTheySkip) {
  Recording recording;
  hooked::catches_from(2);
  hooked::leaf(1);
  recording.stop();
  // Clang leaves out the exits of functions that end by an exception; the exit around them closes them.
#if defined(__clang__)
  const Lines expected{"hooked::catches_from",       "  hooked::throws_from!", "    hooked::throws_from!",
                       "      hooked::throws_from!", "        hooked::leaf",   "hooked::leaf"};
#else
  const Lines expected{"hooked::catches_from",      "  hooked::throws_from", "    hooked::throws_from",
                       "      hooked::throws_from", "  hooked::leaf",        "hooked::leaf"};
#endif
  EXPECT_EQ(recording.outline(), expected);
}

TEST(Hooks, ExceptionsWithinRecursionLeaveTheOuterCallsAlone) {
  Recording recording;
  hooked::recursive_with_catch(5);
  hooked::leaf(1);
  recording.stop();
  std::size_t closed = 0;
  for (const RecordedScope& scope : recording.scopes()) {
    closed += scope.site.name == "hooked::recursive_with_catch" && scope.is_closed ? 1 : 0;
  }
  EXPECT_EQ(closed, 6U);
  EXPECT_EQ(recording.count("hooked::throws_from"), 6U);
  EXPECT_EQ(recording.scopes().back().depth, 0U);
}

TEST(Hooks, LongjmpEndsWhatItSkips) {
  Recording recording;
  hooked::jumps_back();
  hooked::leaf(1);
  recording.stop();
  EXPECT_EQ(recording.outline(),
            (Lines{"hooked::jumps_back", "  hooked::(anonymous namespace)::before_jump!",
                   "    hooked::(anonymous namespace)::jump!", "      hooked::leaf", "hooked::leaf"}));
}

TEST(Hooks, FunctionsOfEveryKindHaveTheirNames) {
  Recording recording;
  static_cast<void>(hooked::scale(1.0F));
  hooked::calls_static(1);
  hooked::calls_c(1);
  hooked::calls_lambda(1);
  {
    const hooked::Widget widget(3);
    static_cast<void>(widget(1));
    static_cast<void>(widget.area());
  }
  recording.stop();
#if defined(__clang__)
  const std::string lambda = "$_0";
#else
  const std::string lambda = "{lambda(int)#1}";
#endif
  EXPECT_EQ(recording.outline(),
            (Lines{"hooked::scale<float>", "hooked::calls_static", "  hooked::with_internal_linkage",
                   "    hooked::(anonymous namespace)::in_anonymous_namespace", "hooked::calls_c", "  hooked_in_c",
                   "hooked::calls_lambda", "  hooked::calls_lambda(int)::" + lambda + "::operator()",
                   "hooked::Widget::Widget", "hooked::Widget::operator()", "hooked::Widget::area",
                   "hooked::Widget::~Widget"}));
}

TEST(Hooks, SkippedFunctionsAreNotHooked) {
  Recording recording;
  hooked::calls_skipped(1);
  recording.stop();
  EXPECT_EQ(recording.outline(), (Lines{"hooked::calls_skipped", "  hooked::leaf"}));
}

TEST(Hooks, MacrosAndHooksNest) {
  Recording recording;
  {
    KYMO_SCOPE("around");
    hooked::with_scope(7);
  }
  recording.stop();
  EXPECT_EQ(recording.outline(), (Lines{"around", "  hooked::with_scope", "    inside", "      hooked::leaf"}));
}

TEST(Hooks, NothingOfKymoIsHookedEvenWhereNothingIsInlined) {
  Recording recording;
  unoptimised::uses_all_that_kymo_inlines();
  recording.stop();
  std::size_t own = 0;
  for (const std::string& line : recording.outline()) {
    EXPECT_EQ(line.find("kymo::"), std::string::npos) << line;
    own += line.find("unoptimised::uses_all") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(own, 1U) << "the function itself is";
}

TEST(Hooks, ArgumentsBelongToTheFunctionTheyStandIn) {
  Recording recording;
  hooked::with_argument(11);
  recording.stop();
  ASSERT_EQ(recording.scopes().size(), 2U);
  EXPECT_EQ(recording.scopes()[0].arguments, std::vector<std::int64_t>{11});
  EXPECT_TRUE(recording.scopes()[1].arguments.empty());
}

TEST(Hooks, PatternsDecideBeforeTheFirstScope) {
  Recording recording;
  render_world(1);
  render_world(2);
  recording.stop();
  const Lines once{"Renderer::draw", "Renderer::update", "  world::update"};
  Lines twice = once;
  twice.insert(twice.end(), once.begin(), once.end());
  EXPECT_EQ(recording.outline(), twice);
  EXPECT_EQ(recording.dropped(), 0U);
}

TEST(Hooks, ThreadsRecordEveryCall) {
  constexpr int threads = 8;
  constexpr int calls = 500;
  Recording recording;
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([] {
      for (int call = 0; call < calls; ++call) {
        hooked::outer(call);
      }
    });
  }
  for (std::thread& thread : running) {
    thread.join();
  }
  recording.stop();
  EXPECT_EQ(recording.scopes().size() + recording.dropped(), static_cast<std::size_t>(threads * calls * 5));
  EXPECT_EQ(recording.dropped(), 0U);
  for (const RecordedScope& scope : recording.scopes()) {
    ASSERT_TRUE(scope.is_closed);
    ASSERT_EQ(scope.depth, scope.site.name == "hooked::outer" ? 0U : scope.site.name == "hooked::middle" ? 1U : 2U);
  }
}

/// A plugin that is open as long as this lives.
class Plugin {
 public:
  explicit Plugin(const char* path) : handle_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) {
      throw std::runtime_error(dlerror());
    }
  }
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;
  ~Plugin() { dlclose(handle_); }

  int call(int value) const { return reinterpret_cast<int (*)(int)>(dlsym(handle_, "plugin_entry"))(value); }

 private:
  void* handle_;
};

TEST(Hooks, PluginIsNamedAlthoughItWasClosedBefore) {
  Recording recording;
  Plugin(PLUGIN_ONE).call(1);
  recording.stop();
  ASSERT_EQ(recording.outline(), (Lines{"plugin_entry", "  plugin_one::work"}));
  EXPECT_EQ(recording.module(recording.scopes()[0].site.module)->path, PLUGIN_ONE);
}

TEST(Hooks, PluginsThatComeAndGoKeepTheirOwnNames) {
  Recording recording;
  Lines expected;
  // A closed one leaves its address range to the next.
  for (int round = 0; round < 20; ++round) {
    Plugin(PLUGIN_ONE).call(round);
    Plugin(PLUGIN_TWO).call(round);
    expected.insert(expected.end(), {"plugin_entry", "  plugin_one::work", "plugin_entry", "  plugin_two::work"});
  }
  recording.stop();
  EXPECT_EQ(recording.outline(), expected);
  for (const RecordedScope& scope : recording.scopes()) {
    const kymo::ModuleDeclaration* const module = recording.module(scope.site.module);
    ASSERT_NE(module, nullptr);
    if (scope.parent != RecordedScope::none) {
      EXPECT_EQ(module->path, scope.site.name == "plugin_one::work" ? PLUGIN_ONE : PLUGIN_TWO);
    }
  }
}

TEST(Hooks, ForkInsideHookedFunctionsHarmsNeitherProcess) {
#if defined(KYMO_TEST_EMULATED)
  GTEST_SKIP() << "qemu-user aborts a forked child of a program with threads when it starts one";
#endif
  Recording recording;
  // The hooks by hand: a function that is open when the process forks, and left in both processes.
  void* const function = reinterpret_cast<void*>(&hooked::leaf);
  hooks_enter(function);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    hooks_exit(function);
    hooked::outer(1);
    std::exit(hooked::recursive(10) == 10 ? 0 : 1);
  }
  hooks_exit(function);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  hooked::outer(1);
  recording.stop();
  EXPECT_EQ(recording.outline(), (Lines{"hooked::leaf", "hooked::outer", "  hooked::middle", "    hooked::leaf",
                                        "  hooked::middle", "    hooked::leaf"}));
}

TEST(Hooks, SignalHandlersAreRecordedOrCounted) {
#if defined(KYMO_TEST_EMULATED)
  GTEST_SKIP() << "under qemu-user 7.2 the thread that the signals go to does not come on";
#endif
  constexpr int calls = 2000;
  struct sigaction action {};
  action.sa_handler = hooked::from_signal_handler;
  struct sigaction before {};
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  Recording recording;
  const pthread_t self = pthread_self();
  std::atomic<bool> is_done{false};
  const unsigned long handled_before = hooked::handled_signals();
  std::thread sender([&] {
    while (!is_done.load()) {
      // One at a time: under an emulator, signals could come faster than they are handled.
      const unsigned long handled = hooked::handled_signals();
      pthread_kill(self, SIGUSR1);
      while (hooked::handled_signals() == handled && !is_done.load()) {
        std::this_thread::yield();
      }
    }
  });
  for (int i = 0; i < calls; ++i) {
    hooked::outer(i);
  }
  is_done = true;
  sender.join();
  sigaction(SIGUSR1, &before, nullptr);
  hooked::leaf(1);
  recording.stop();
  const unsigned long handled = hooked::handled_signals() - handled_before;
  EXPECT_EQ(recording.scopes().size() + recording.dropped(), calls * 5U + 1U + 2U * handled);
  EXPECT_EQ(recording.scopes().back().depth, 0U);
  for (const RecordedScope& scope : recording.scopes()) {
    ASSERT_TRUE(scope.is_closed);
  }
}

TEST(Hooks, ExitsWithoutEntryDoNothing) {
  Recording recording;
  hooks_exit(reinterpret_cast<void*>(&hooked::outer));
  hooked::leaf(1);
  hooks_exit(reinterpret_cast<void*>(&hooked::leaf));
  hooked::leaf(1);
  recording.stop();
  EXPECT_EQ(recording.outline(), (Lines{"hooked::leaf", "hooked::leaf"}));
}

}  // namespace
