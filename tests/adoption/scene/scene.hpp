#pragma once

#include <string>
#include <vector>

#define SCENE_API __attribute__((visibility("default")))

namespace scene {

class SCENE_API Mesh {
 public:
  explicit Mesh(int corners);
  [[nodiscard]] double area() const;

 private:
  std::vector<double> corners_;
};

class SCENE_API Renderer {
 public:
  /// Returns how many meshes were visible.
  int draw(const std::vector<Mesh>& meshes, const std::string& pass);
};

}  // namespace scene
