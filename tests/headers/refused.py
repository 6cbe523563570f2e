"""What the compiler says of scopes that are written wrongly: refused.py COMPILER INCLUDE

Each snippet is compiled; it must be refused with a message that names the way out."""

import subprocess
import sys

SNIPPETS = {
    "a seventh argument": (
        'KYMO_SCOPE("a", {"b", 1}, {"c", 2}, {"d", 3}, {"e", 4}, {"f", 5}, {"g", 6}, {"h", 7});',
        "KYMO_SCOPE takes up to six arguments: add the others with KYMO_ARG",
    ),
    "a name in a variable": (
        'const char* name = "a"; KYMO_SCOPE(name);',
        "KYMO_SCOPE_DYNAMIC takes names that are made at run time",
    ),
    "a std::string": (
        'const std::string name("a"); KYMO_SCOPE(name, {"b", 1});',
        "KYMO_SCOPE_DYNAMIC takes names that are made at run time",
    ),
    "a text that is made at run time": (
        'char name[8] = "a"; KYMO_SCOPE(name);',
        "kymo_scope_needs_a_literal",
    ),
    "a choice of texts": ('KYMO_SCOPE(x > 0 ? "load" : "move");', "kymo_scope_needs_a_literal"),
    "a branch without braces": ('if (x > 0) KYMO_SCOPE("a");', "kymo_scope_needs_a_literal_and_braces_around_it"),
    "a loop without braces": (
        'while (x > 0) KYMO_SCOPE_DYNAMIC("a");',
        "kymo_scope_needs_a_literal_and_braces_around_it",
    ),
    "an argument of another type": (
        'struct Other {}; KYMO_SCOPE("a", {"b", Other()});',
        "an argument is an integer, a float, a boolean or a string",
    ),
}


def main():
    compiler, include = sys.argv[1:]
    failures = []
    for what, (snippet, way_out) in SNIPPETS.items():
        source = (
            f"#include <string>\n#include <kymo/kymo.hpp>\nvoid f(int x);\nvoid f(int x) {{ (void)x; {snippet} }}\n"
        )
        done = subprocess.run(
            [compiler, "-std=c++17", "-fsyntax-only", "-I", include, "-x", "c++", "-"],
            input=source,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0 or way_out not in done.stderr:
            failures.append(f"{what}: the compiler ended with {done.returncode} and said\n{done.stderr}")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
