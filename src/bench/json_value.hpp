// JSON values for fingerprints and witnesses. Nothing is replaced: values that JSON cannot represent are refused.
#pragma once

#include <string>
#include <string_view>

namespace kymo::bench {

/// Appends a JSON string, quotes included. Throws std::invalid_argument if the text is not UTF-8; `what` names it.
void append_text(std::string& out, std::string_view text, std::string_view what);

/// Appends a float in the shortest form that reads back as the same value: "1.0", "0.01", "1e-6", "1.5e20". Uses an
/// exponent below 1e-5 and from 1e13 (float) or 1e16 (double) on. Throws std::invalid_argument if it is not finite.
void append_float(std::string& out, float value, std::string_view what);
void append_float(std::string& out, double value, std::string_view what);

}  // namespace kymo::bench
