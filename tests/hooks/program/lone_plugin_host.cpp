// A program without kymo, which loads the plugin that is its argument. Ends with 0 when the plugin's calls were
// recorded.
#include <cstdio>

#include <dlfcn.h>

int main(int argc, char** argv) {
  void* const plugin = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (plugin == nullptr) {
    std::fprintf(stderr, "%s\n", argc == 2 ? dlerror() : "usage: lone_plugin_host PLUGIN");
    return 2;
  }
  auto* const records_its_calls = reinterpret_cast<int (*)()>(dlsym(plugin, "records_its_calls"));
  if (records_its_calls == nullptr || records_its_calls() != 1) {
    std::fprintf(stderr, "the plugin's calls were not recorded\n");
    return 1;
  }
  return 0;
}
