// What stands beside a capture: notes about it, how its program's rows are arranged, and the sources of the program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kymo::viewer {

/// Where notes about captures are kept: run.kymo.notes, or kymo.notes in a directory of captures. Empty without
/// captures.
[[nodiscard]] std::string notes_path(const std::vector<std::string>& captures);

/// Where the arrangement of a program's rows is kept, in a folder: a file named after the program, whose command line
/// is given: its first word, and of an interpreter's the next one too. Empty without either.
[[nodiscard]] std::string arrangement_path(const std::string& folder, const std::string& command_line);

/// The content of a regular file of up to 4 MiB; empty if it is none, or cannot be read.
[[nodiscard]] std::string read_small_file(const std::string& path);
/// Replaces a file of notes. Throws std::runtime_error on failure, and if the file is not one of notes.
void write_notes(const std::string& path, const std::string& notes);
/// Likewise with an arrangement. Makes its folder.
void write_arrangement(const std::string& path, const std::string& arrangement);

/// The words of the user's command for a place in a source file: those of a text, with %f and %l replaced; without %f
/// the file is the last word. Files have absolute paths, so none is taken for an option. Empty if the text has no words
/// or the file is not here. No shell takes part.
[[nodiscard]] std::vector<std::string> editor_words(const std::string& command, const std::string& file,
                                                    std::uint32_t line);
/// Starts a program and does not wait for it. Throws std::runtime_error if it cannot be started.
void start_program(const std::vector<std::string>& words);

}  // namespace kymo::viewer
