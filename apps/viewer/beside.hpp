// What stands beside a capture: notes about it, and the sources of the recorded program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kymo::viewer {

/// Where notes about captures are kept: run.kymo.notes, or kymo.notes in a directory of captures. Empty without captures.
[[nodiscard]] std::string notes_path(const std::vector<std::string>& captures);

/// The content of a regular file of up to 4 MiB; empty if it is none, or cannot be read.
[[nodiscard]] std::string read_small_file(const std::string& path);
/// Replaces a file of notes. Throws std::runtime_error on failure, and if the file is not one of notes.
void write_notes(const std::string& path, const std::string& notes);

/// The words of the user's command for a place in a source file: those of a text, with %f and %l replaced; without %f
/// the file is the last word. Files have absolute paths, so none is taken for an option. Empty if the text has no words
/// or the file is not here. No shell takes part.
[[nodiscard]] std::vector<std::string> editor_words(const std::string& command, const std::string& file,
                                                    std::uint32_t line);
/// Starts a program and does not wait for it. Throws std::runtime_error if it cannot be started.
void start_program(const std::vector<std::string>& words);

}  // namespace kymo::viewer
