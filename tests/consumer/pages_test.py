"""The commands of the other pages, each tried as it stands: pages_test.py SOURCE PREFIX PYTHON

Every line of a page that begins with a command of kymo's runs in a folder that has what the line names, with the kymo
that is installed below PREFIX and the Python package in the folder PYTHON. A command that fails fails the test.
"""

import pathlib
import re
import shutil
import sys
import tempfile

from documents_test import run_as_user

#: A command to be tried. What stands behind it is left to the shell, comments too.
COMMAND = re.compile(r"(?:[A-Z_]+=\S+ )*(?:kymo|python -m kymograph|\./program|c\+\+) ")
#: Commands that are not tried here, by what they begin with, and why.
LEFT_OUT = {
    "kymo serve": "serves until it is ended",
    "kymo export --to openmetrics --listen": "serves until it is ended",
    "kymo top": "shows until it is ended",
    "kymo bench verify": "needs bundles of a test run",
    "kymo bench bundle": "needs bundles of a test run",
    "kymo recover --to nvmt": "needs a recording that was killed",
}
#: A command that shows a window takes a picture of it instead.
WINDOW = re.compile(r"kymo view (?!--screenshot)")
#: A command that writes a file finds none of that name.
OUTPUT = re.compile(r" -o (\S+\.\w+)")
OTHER_DOCUMENTS = ("README.md", "CONTRIBUTING.md")
WITH_OWN_TEST = ("tutorial.md", "how-to.md")

PREPARE = """
c++ -std=c++17 -O1 -g -o program program.cpp $(pkg-config --cflags --libs kymo)
ln -s program solve
printf 'all:\\n\\ttrue\\n' >Makefile
for name in run before after before-1 before-2 before-3 after-1 after-2; do
  kymo record --stacks -o $name.kymo -- ./program 2>record.log
done
mkdir before after main branch captures runs
for folder in before after main branch captures runs; do
  cp before-?.kymo $folder/
done
cp run.kymo a.kymo
cp after.kymo b.kymo
cp run.kymo build.kymo
cp before.kymo rank-0.kymo
cp after.kymo rank-1.kymo
kymo export --to chrome -o run.json run.kymo
gzip -k run.json
cp run.json trace.json
kymo export --to nvmt -o run.nvmt run.kymo
kymo export --to vor -o run.vor run.kymo
"""


def commands_of(page: pathlib.Path) -> list[str]:
    """The commands in a page's blocks of shell and of indented text."""
    text = page.read_text()
    lines = "".join(re.findall(r"(?ms)^```sh\n(.*?)^```$", text)).splitlines()
    lines += re.findall(r"(?m)^    (.*)$", re.sub(r"(?ms)^```.*?^```$", "", text))
    return [line for line in lines if COMMAND.match(line)]


class Reader:
    """Somebody who tries what the pages say."""

    def __init__(self, source: pathlib.Path, prefix: pathlib.Path, python: pathlib.Path, folder: pathlib.Path) -> None:
        self.source = source
        self.prefix = prefix
        self.python = python
        self.folder = folder
        self.prepared = folder / "prepared"

    def may_record_stacks(self) -> bool:
        tried = run_as_user("kymo record --stacks -o tried.kymo -- true", self.folder, self.prefix, self.python)
        return "no stacks are recorded" not in tried.stderr

    def prepare(self) -> None:
        self.prepared.mkdir()
        shutil.copy(self.source / "tests" / "consumer" / "pages_program.cpp", self.prepared / "program.cpp")
        page = (self.source / "docs" / "benchmarking.md").read_text()
        (plan,) = re.findall(r"(?ms)^```json\n(.*?)^```$", page)[:1]
        (self.prepared / "plan.json").write_text(plan)
        for name in ("train.py", "mymodel/train.py", "package/tool.py"):
            (self.prepared / name).parent.mkdir(exist_ok=True)
            (self.prepared / name).write_text("print(sum(range(1000)))\n")
        result = run_as_user(PREPARE, self.prepared, self.prefix, self.python)
        if result.returncode != 0:
            raise RuntimeError(f"preparing ended with {result.returncode}:\n{result.stdout}{result.stderr}")

    def tries(self, command: str) -> str:
        """What is wrong with a command, tried in a folder of its own."""
        here = self.folder / "here"
        shutil.copytree(self.prepared, here, symlinks=True)
        command = WINDOW.sub("kymo view --screenshot picture.png ", command)
        for name in OUTPUT.findall(command):
            (here / name).unlink(missing_ok=True)
        # The Python that the package was built for.
        command = command.replace("python -m", f"{sys.executable} -m")
        result = run_as_user(command, here, self.prefix, self.python)
        shutil.rmtree(here)
        return "" if result.returncode == 0 else f"{command}\nended with {result.returncode}:\n{result.stderr}"


def main() -> int:
    source, prefix, python = map(pathlib.Path, sys.argv[1:4])
    pages = [page for page in sorted((source / "docs").glob("*.md")) if page.name not in WITH_OWN_TEST]
    pages += [source / name for name in OTHER_DOCUMENTS]
    tried = 0
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        reader = Reader(source, prefix, python, pathlib.Path(folder))
        if not reader.may_record_stacks():
            print('skipped "the kernel allows no samples of stacks"')
            return 77
        reader.prepare()
        for page in pages:
            for command in commands_of(page):
                if any(command.startswith(start) for start in LEFT_OUT):
                    continue
                if command.startswith("python") and not (python / "kymograph").is_dir():
                    continue
                if WINDOW.match(command) and not (prefix / "bin" / "kymo-viewer").exists():
                    continue
                tried += 1
                trouble = reader.tries(command)
                if trouble:
                    wrong.append(f"{page.name}: {trouble}")
    print(f"{tried} commands")
    print("\n".join(wrong))
    return 0 if tried > 40 and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
