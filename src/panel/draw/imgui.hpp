// Dear ImGui for the panel: imgui.h only, from 1.86 on.
#pragma once

#include <imgui.h>
