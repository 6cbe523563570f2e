// The scene's shaders in GLSL 3.30. They use no buffers: boxes and triangles are computed from vertex numbers.
#pragma once

namespace example::shaders {

/// One box per grid point, as high as the wave there.
inline constexpr const char* boxes = R"(#version 330
uniform mat4 view_projection;
uniform sampler2D heights;
uniform int side;
out vec3 normal;
out vec3 albedo;

void main() {
  ivec2 cell = ivec2(gl_InstanceID % side, gl_InstanceID / side);
  float wave = texelFetch(heights, cell, 0).r;
  int face = gl_VertexID / 6;
  int corner = gl_VertexID % 6;
  int axis = face / 2;
  float outwards = float(face % 2) * 2.0 - 1.0;
  vec2 edge = vec2(corner == 1 || corner == 2 || corner == 4 ? 1.0 : -1.0, corner == 2 || corner == 4 || corner == 5 ? 1.0 : -1.0);
  vec3 unit;
  unit[axis] = outwards;
  unit[(axis + 1) % 3] = edge.x;
  unit[(axis + 2) % 3] = edge.y;
  normal = vec3(0.0);
  normal[axis] = outwards;
  vec2 from_middle = vec2(cell) - float(side - 1) * 0.5;
  float height = 2.2 + wave * 3.2 - dot(from_middle, from_middle) * 0.0009;
  vec3 place = vec3(from_middle.x + unit.x * 0.43, (unit.y * 0.5 + 0.5) * max(height, 0.1), from_middle.y + unit.z * 0.43);
  vec3 deep = vec3(0.02, 0.07, 0.16);
  vec3 crest = vec3(0.95, 0.42, 0.16);
  albedo = mix(deep, vec3(0.10, 0.38, 0.50), smoothstep(-0.6, 0.25, wave));
  albedo = mix(albedo, crest, smoothstep(0.12, 0.75, wave) * (unit.y > 0.0 ? 1.0 : 0.35));
  gl_Position = view_projection * vec4(place, 1.0);
}
)";

inline constexpr const char* depth_only = R"(#version 330
void main() {}
)";

inline constexpr const char* geometry = R"(#version 330
in vec3 normal;
in vec3 albedo;
layout(location = 0) out vec4 out_albedo;
layout(location = 1) out vec4 out_normal;
void main() {
  out_albedo = vec4(albedo, 1.0);
  out_normal = vec4(normalize(normal) * 0.5 + 0.5, 1.0);
}
)";

/// One triangle that covers the screen.
inline constexpr const char* screen = R"(#version 330
out vec2 uv;
void main() {
  uv = vec2(float(gl_VertexID % 2) * 2.0, float(gl_VertexID / 2) * 2.0);
  gl_Position = vec4(uv * 2.0 - 1.0, 0.0, 1.0);
}
)";

inline constexpr const char* occlusion = R"(#version 330
in vec2 uv;
uniform sampler2D depth;
uniform vec2 texel;
out float share;
float distance_at(vec2 at) { return 1.0 / (1.001 - texture(depth, at).r); }
void main() {
  float here = distance_at(uv);
  float hidden = 0.0;
  for (int i = 0; i < 12; ++i) {
    float angle = float(i) * 2.4;
    vec2 offset = vec2(cos(angle), sin(angle)) * sqrt(float(i) + 0.5) * texel * 3.0;
    float nearer = (here - distance_at(uv + offset)) / here;
    hidden += smoothstep(0.004, 0.03, nearer) * (1.0 - smoothstep(0.06, 0.2, nearer));
  }
  share = 1.0 - hidden / 12.0 * 0.9;
}
)";

inline constexpr const char* lighting = R"(#version 330
in vec2 uv;
uniform sampler2D albedo;
uniform sampler2D normals;
uniform sampler2D depth;
uniform sampler2D occlusion;
uniform sampler2D shadows;
uniform mat4 to_world;
uniform mat4 to_light;
uniform vec3 sun;
uniform vec3 eye;
out vec4 light;

vec3 sky(vec3 direction) {
  float up = clamp(direction.y, -0.1, 1.0);
  vec3 colour = mix(vec3(0.72, 0.36, 0.22), vec3(0.07, 0.12, 0.26), smoothstep(-0.05, 0.45, up));
  return colour + vec3(3.0, 1.5, 0.6) * pow(max(dot(direction, sun), 0.0), 180.0);
}

float lit_share(vec3 place) {
  vec4 seen = to_light * vec4(place, 1.0);
  vec3 at = seen.xyz / seen.w * 0.5 + 0.5;
  float lit = 0.0;
  for (int y = -1; y <= 1; ++y) {
    for (int x = -1; x <= 1; ++x) {
      lit += texture(shadows, at.xy + vec2(x, y) / 1024.0).r + 0.0025 > at.z ? 1.0 : 0.0;
    }
  }
  return lit / 9.0;
}

void main() {
  float z = texture(depth, uv).r;
  vec4 far = to_world * vec4(uv * 2.0 - 1.0, z * 2.0 - 1.0, 1.0);
  vec3 place = far.xyz / far.w;
  vec3 direction = normalize(place - eye);
  if (z >= 1.0) {
    light = vec4(sky(direction), 1.0);
    return;
  }
  vec3 colour = texture(albedo, uv).rgb;
  vec3 normal = normalize(texture(normals, uv).rgb * 2.0 - 1.0);
  float shade = texture(occlusion, uv).r;
  float facing = max(dot(normal, sun), 0.0);
  float lit = facing > 0.0 ? lit_share(place + normal * 0.06) : 0.0;
  vec3 half_way = normalize(sun - direction);
  float shine = pow(max(dot(normal, half_way), 0.0), 40.0);
  vec3 result = colour * (sky(normal) * 0.55 * shade + vec3(2.6, 1.7, 1.0) * facing * lit);
  result += vec3(1.6, 1.0, 0.6) * shine * lit;
  float mist = 1.0 - exp(-max(length(place - eye) - 30.0, 0.0) * 0.012);
  light = vec4(mix(result, sky(vec3(direction.x, 0.02, direction.z)), mist), 1.0);
}
)";

inline constexpr const char* bright = R"(#version 330
in vec2 uv;
uniform sampler2D light;
out vec4 colour;
void main() {
  vec3 here = texture(light, uv).rgb;
  colour = vec4(here * smoothstep(0.8, 1.8, max(here.r, max(here.g, here.b))), 1.0);
}
)";

inline constexpr const char* blur = R"(#version 330
in vec2 uv;
uniform sampler2D light;
uniform vec2 step;
out vec4 colour;
void main() {
  vec3 sum = texture(light, uv).rgb * 0.16;
  for (int i = 1; i <= 5; ++i) {
    float weight = 0.084 * (1.0 + (5.0 - float(i)) * 0.28) * 0.64;
    sum += (texture(light, uv + step * float(i)).rgb + texture(light, uv - step * float(i)).rgb) * weight;
  }
  colour = vec4(sum, 1.0);
}
)";

inline constexpr const char* composite = R"(#version 330
in vec2 uv;
uniform sampler2D light;
uniform sampler2D glow;
out vec4 colour;
void main() {
  vec3 sum = texture(light, uv).rgb + texture(glow, uv).rgb * 0.7;
  vec2 from_middle = uv - 0.5;
  sum *= 1.0 - dot(from_middle, from_middle) * 0.7;
  vec3 mapped = (sum * (2.51 * sum + 0.03)) / (sum * (2.43 * sum + 0.59) + 0.14);
  colour = vec4(pow(clamp(mapped, 0.0, 1.0), vec3(1.0 / 2.2)), 1.0);
}
)";

}  // namespace example::shaders
