// A plugin, built twice under two names: the same layout, other functions.
namespace PLUGIN_NAMESPACE {

__attribute__((noinline)) int work(int value) {
  __asm__ volatile("" : : "r"(value) : "memory");
  return value + 1;
}

}  // namespace PLUGIN_NAMESPACE

extern "C" int plugin_entry(int value) {
  return PLUGIN_NAMESPACE::work(value) + 1;
}
