#include "filtered_functions.hpp"

static volatile int sink = 0;

#define OUT_OF_LINE __attribute__((noinline))

OUT_OF_LINE int Renderer::draw(int value) {
  sink = value;
  return log_value(value) + 1;
}
OUT_OF_LINE int Renderer::draw(int value, int more) {
  sink = value;
  return draw(value) + more;
}
OUT_OF_LINE int Renderer::log_value(int value) {
  sink = value;
  return value + 2;
}
OUT_OF_LINE int Renderer::update(int value) {
  sink = value;
  return world::update(value) + 1;
}
OUT_OF_LINE int world::update(int value) {
  sink = value;
  return load(value) + 1;
}
OUT_OF_LINE int world::load(int value) {
  sink = value;
  return value;
}
OUT_OF_LINE int render_world(int value) {
  Renderer renderer;
  return renderer.draw(value, 1) + renderer.update(value) + world::load(value);
}
