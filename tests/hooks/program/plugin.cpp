// A plugin, built twice under two names: the same layout, other functions.
namespace PLUGIN_NAMESPACE {

static volatile int sink = 0;

__attribute__((noinline)) int work(int value) {
  sink = value;
  return value + 1;
}

}  // namespace PLUGIN_NAMESPACE

extern "C" int plugin_entry(int value) { return PLUGIN_NAMESPACE::work(value) + 1; }
