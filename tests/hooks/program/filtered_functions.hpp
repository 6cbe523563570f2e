// Functions of an archive that was instrumented with INCLUDE and EXCLUDE patterns.
#pragma once

class Renderer {
 public:
  int draw(int value);
  int draw(int value, int more);  // left out by its parameters
  int log_value(int value);       // left out by name
  int update(int value);
};

namespace world {
int update(int value);
int load(int value);  // matches nothing
}  // namespace world

/// Calls all of them; itself left out.
int render_world(int value);
