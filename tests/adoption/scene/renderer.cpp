#include "scene.hpp"

namespace scene {

int Renderer::draw(const std::vector<Mesh>& meshes, const std::string& pass) {
  int visible = 0;
  for (const Mesh& mesh : meshes) {
    if (mesh.area() > 1) {
      ++visible;
    }
  }
  return pass == "shadow" ? visible / 2 : visible;
}

}  // namespace scene
