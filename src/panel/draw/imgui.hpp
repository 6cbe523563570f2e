// Dear ImGui for the panel, from 1.86 on.
#pragma once

#include <imgui.h>
