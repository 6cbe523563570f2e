#include "filtered_functions.hpp"

// Makes the optimiser believe that a value is used.
#define USE(value) __asm__ volatile("" : : "r"(value) : "memory")

#define OUT_OF_LINE __attribute__((noinline))

OUT_OF_LINE int Renderer::draw(int value) {
  USE(value);
  return log_value(value) + 1;
}
OUT_OF_LINE int Renderer::draw(int value, int more) {
  USE(value);
  return draw(value) + more;
}
OUT_OF_LINE int Renderer::log_value(int value) {
  USE(value);
  return value + 2;
}
OUT_OF_LINE int Renderer::update(int value) {
  USE(value);
  return world::update(value) + 1;
}
OUT_OF_LINE int world::update(int value) {
  USE(value);
  return load(value) + 1;
}
OUT_OF_LINE int world::load(int value) {
  USE(value);
  return value;
}
OUT_OF_LINE int render_world(int value) {
  Renderer renderer;
  return renderer.draw(value, 1) + renderer.update(value) + world::load(value);
}
