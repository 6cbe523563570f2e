// Dear ImGui as the panel uses it: imgui.h alone, from 1.86 on.
#pragma once

#include <imgui.h>
