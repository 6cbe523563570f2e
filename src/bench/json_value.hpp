// Values of JSON as fingerprints and witnesses have them: nothing is replaced, what JSON cannot say is refused.
#pragma once

#include <string>
#include <string_view>

namespace kymo::bench {

/// Appends a JSON string, quotes included. std::invalid_argument where the text is not UTF-8; `what` names it.
void append_text(std::string& out, std::string_view text, std::string_view what);

/// Appends a float in its shortest form that reads back to the same value: "1.0", "0.01", "1e-6", "1.5e20". An exponent
/// is used below 1e-5 and from 1e13 (float) or 1e16 (double) on. std::invalid_argument where it is not finite.
void append_float(std::string& out, float value, std::string_view what);
void append_float(std::string& out, double value, std::string_view what);

}  // namespace kymo::bench
