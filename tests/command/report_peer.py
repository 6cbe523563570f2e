"""Python's HTML parser reads the pages of kymo report: numbers are those of kymo stats, names are never markup.

report_peer.py KYMO REPORT_CAPTURES RECORDED_PROGRAM
"""

import json
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path

# fmt: off
TAGS = [
    "html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "h3", "div", "strong", "ul", "li", "dl",
    "dt", "dd", "details", "summary", "nav", "a", "main", "section", "table", "caption", "thead", "tr", "th", "tbody",
    "td", "data", "small", "figure", "figcaption", "p", "footer", "svg", "g", "text", "rect", "path", "line",
]
ATTRIBUTES = [
    "lang", "charset", "name", "content", "http-equiv", "role", "aria-label", "aria-labelledby", "aria-hidden",
    "tabindex", "id", "class", "href", "scope", "value", "open", "title", "width", "height", "viewbox",
    "preserveaspectratio", "xmlns", "rx", "d", "x", "y", "x1", "x2", "y1", "y2", "text-anchor", "fill",
]
# fmt: on
VOID = {"meta"}


class Page(HTMLParser):
    """Tables by the id of their section, rows by name; what is no known tag or attribute; the text."""

    def __init__(self, text):
        super().__init__()
        self.tables = {}
        self.sections = []
        self.strange = []
        self.text = ""
        self.links = []
        self.first_rows = {}  # of each section: those of its longest table before "more"
        self._open = []
        self._folds = 0
        self._section = ""
        self._cell = None
        self.feed(text)
        self.close()
        if self._open:
            self.strange.append(f"left open: {self._open}")

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag not in TAGS or not set(attributes) <= set(ATTRIBUTES):
            self.strange.append((tag, attributes))
        if "href" in attributes:
            self.links.append(attributes["href"])
        if tag not in VOID:
            self._open.append(tag)
        if tag == "details":
            self._folds += self._folds > 0 or attributes.get("class") == "more"
        if tag == "section":
            self._section = attributes.get("id", "")
            self.sections.append(self._section)
        elif tag == "table":
            self.tables.setdefault(self._section, []).append([])
        elif tag == "tr":
            table = self.tables[self._section][-1]
            table.append([])
            if not self._folds:
                self.first_rows[self._section] = max(self.first_rows.get(self._section, 0), len(table) - 1)
        elif tag in ("td", "th"):
            self._cell = {"text": "", "value": None}
            self.tables[self._section][-1][-1].append(self._cell)
        elif tag == "data" and self._cell is not None:
            self._cell["value"] = attributes["value"]

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if not self._open or self._open.pop() != tag:
            self.strange.append(f"</{tag}>")
        if tag == "details" and self._folds:
            self._folds -= 1
        if tag in ("td", "th"):
            self._cell = None

    def handle_data(self, data):
        if self._open and self._open[-1] == "style":
            return
        self.text += data
        if self._cell is not None and self._open[-1] not in ("small", "title"):
            self._cell["text"] += data

    def rows(self, section, title):
        """The rows of the tables whose first column has this title: name and exact values by title of the column."""
        rows = []
        for table in self.tables.get(section, []):
            titles = [cell["text"] for cell in table[0]]
            if titles[0] == title:
                rows += [[row[0]["text"], list(zip(titles[1:], row[1:], strict=True))] for row in table[1:]]
        if not rows:
            sys.exit(f"there is no table of {title} in {section}")
        return rows


def expect(what, got, wanted):
    if got != wanted:
        sys.exit(f"{what}: {got!r}, not {wanted!r}")


def run(kymo, *arguments, status=0):
    done = subprocess.run([kymo, *map(str, arguments)], capture_output=True, check=False)
    if done.returncode != status:
        sys.exit(f"{arguments}: {done.returncode}\n{done.stderr.decode()}")
    return done.stdout.decode()


def write_report(kymo, folder, captures, *options, status=0):
    run(kymo, "report", "-o", folder / "page.html", *options, *captures, status=status)
    return Page((folder / "page.html").read_text(encoding="utf-8"))


def shown(name):
    """How a page shows a name, whatever its bytes."""
    return name.replace("\x1b", "\\x1b") or "(main)"


SCALES = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def check_shown(what, text, value):
    """What people read is the exact number to three digits."""
    number, _, unit = text.removeprefix("<= ").replace(",", "").partition(" ")
    if abs(float(number) * SCALES[unit or "ns"] - value) > 0.0051 * value:
        sys.exit(f"{what}: {text} is not {value}")


def compare(what, rows, wanted, columns):
    """The exact numbers. `columns`: keys of the JSON by the titles of columns, in their order."""
    expect(f"{what}: names", [name for name, _ in rows], [shown(row["name"]) for row in wanted])
    for (name, cells), row in zip(rows, wanted, strict=True):
        values = [cell["value"] for title, cell in cells if title in columns]
        titles = [title for title, _ in cells if title in columns]
        keys = [columns[title].pop(0) if isinstance(columns[title], list) else columns[title] for title in titles]
        for title, value, key in zip(titles, values, keys, strict=True):
            expect(f"{what} {name}: {title}", None if value is None else float(value), row[key])
        for title, cell in cells:
            if columns is DURATIONS and cell["value"] is not None:
                check_shown(f"{what} {name}: {title}", cell["text"], float(cell["value"]))


DURATIONS = {"count": "count", "total": "total_ns", "mean": "mean_ns", "min": "min_ns", "p50": "p50_ns",
             "p95": "p95_ns", "p99": "p99_ns", "max": "max_ns"}  # fmt: skip


def check_numbers(kymo, folder, captures):
    page = write_report(kymo, folder, captures)
    stats = json.loads(run(kymo, "stats", "--json", *captures))
    compare("sites", page.rows("scopes", "scope"), stats["sites"], {**DURATIONS, "self": "self_ns"})
    compare("spans", page.rows("spans", "span"), stats["spans"], DURATIONS)
    compare("frames", page.rows("frames", "frames"), stats["frame_streams"], DURATIONS)
    metrics = [row for row in page.rows("metrics", "metric") if row[0] != "time"]
    stats["metrics"].sort(key=lambda metric: metric["source"] != "")
    for metric in stats["metrics"]:
        metric["name"] += "".join(f" {key}={value}" for key, value in metric["labels"].items())
    compare("metrics", metrics, stats["metrics"],
            {"samples": "count", "min": "min", "mean": "mean", "max": "max", "last": "last"})  # fmt: skip
    if stats["locks"]:
        compare("locks", page.rows("locks", "lock"), stats["locks"], {"waits": "waits", "holds": "holds"})
    tree = json.loads(run(kymo, "stats", "--tree", "--json", *captures))
    paths = page.rows("tree", "path")
    least_ns = 0.001 * tree["total_ns"]
    wanted = [row for row in tree["tree"] if row["total_ns"] >= least_ns][:400]
    expect("paths", [(name.count("\u00a0") // 2, name.lstrip("\u00a0")) for name, _ in paths],
           [(min(row["depth"], 16), shown(row["name"])) for row in wanted])  # fmt: skip
    expect("times of paths", [[cell["value"] for _, cell in cells if cell["value"] is not None] for _, cells in paths],
           [[str(row[key]) for key in ("count", "total_ns", "self_ns")] for row in wanted])  # fmt: skip
    energy = json.loads(run(kymo, "stats", "--energy", "--json", *captures))
    compare("joules", page.rows("energy", "scope"), energy["sites"],
            {"count": "count", "energy": "joules", "self": "self_joules"})  # fmt: skip
    compare("joules of spans", page.rows("energy", "GPU span"), energy["spans"],
            {"count": "count", "GPU energy": "gpu_joules", "bound": "gpu_bound_joules"})  # fmt: skip
    compare("joules of frames", page.rows("energy", "frames"), energy["frame_streams"],
            {"count": "count", "energy": "joules", "GPU energy": "gpu_joules"})  # fmt: skip
    expect("unresolved scopes", "unresolved" in page.text, any(not site["is_resolved"] for site in energy["sites"]))
    slow = json.loads(run(kymo, "stats", "--slowest-frames", "10", "--json", *captures))["slowest_frames"]
    tables = [table for table in page.tables["frames"] if table[0][0]["text"] == "scope"]
    expect("slowest frames", len(tables), len([frame for frame in slow if frame["sites"]]))
    for table, frame in zip(tables, slow, strict=True):
        for row, site in zip(table[1:], frame["sites"][:8], strict=False):
            expect("what filled a frame", row[0]["text"], shown(site["name"]))
            got = [float(cell["value"]) for cell in row if cell["value"] is not None]
            expect(f"{site['name']} in a frame", got, [site["count"], site["self_ns"], site["total_ns"]])
    phases = energy["phases"]
    expect("phases", [row[0] for row in page.rows("phases", "phase")], [str(phase["number"]) for phase in phases])
    return page


def check_length(kymo, folder):
    """A recording of many things of each kind: at most a page of each comes before "more", and all of them after it."""
    many = 90
    events = [{"ph": "X", "pid": 1, "tid": 1, "ts": 10 * i, "dur": 5, "name": f"site {i}"} for i in range(many)]
    events += [{"ph": "C", "pid": 1, "ts": i, "name": f"counter {i}", "args": {"value": i}} for i in range(many)]
    events += [{"ph": phase, "pid": 1, "tid": 2, "ts": 10 * i + at, "id": i, "cat": "gpu", "name": f"span {i}"}
               for i in range(many) for phase, at in (("b", 0), ("e", 5))]  # fmt: skip
    (folder / "many.json").write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
    run(kymo, "import", "-o", folder / "many.kymo", folder / "many.json")
    first_screen = run(kymo, "stats", folder / "many.kymo")
    expect("metrics of the machine in a trace of a program", "of the machine" in first_screen, False)
    expect("length of the first screen", first_screen.count("\ncounter") < 25 < many, True)
    page = write_report(kymo, folder, [folder / "many.kymo"], "--top", many)
    for section, title, start in (("scopes", "scope", "site"), ("metrics", "metric", "counter"),
                                  ("spans", "span", "span"), ("tree", "path", "site")):  # fmt: skip
        names = {name.strip("\u00a0") for name, _ in page.rows(section, title)}
        expect(f"all of {section}", {f"{start} {i}" for i in range(many)} <= names, True)
        if not 0 < page.first_rows[section] <= 25:
            sys.exit(f"{section}: {page.first_rows[section]} rows before more")


def check_names(page, names):
    expect("markup that is not kymo's own", page.strange, [])
    expect("links", [link for link in page.links if not link.startswith("#")], [])
    for name in names:
        if name not in page.text:
            sys.exit(f"{name} is not in the page's text")


def main():
    kymo, make_captures, recorded_program = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        capture = folder / "hostile.kymo"
        subprocess.run([make_captures, capture], check=True)
        page = check_numbers(kymo, folder, [capture])
        check_names(page, [
            "</th><script>alert('1')</script>&amp;\\x1b[31m\ufffd", "kernel<svg onload=alert(3)>",
            "load\"><img src=x onerror=alert(2)> <u>=\"'&", "/sys/<i>", "estimated", "5 stale samples",
            "5 unreadable samples", "renewed every 20.0 ms", "machine's power equally",
        ])  # fmt: skip
        text = (folder / "page.html").read_text(encoding="utf-8")
        expect("policy", "default-src 'none'; style-src 'unsafe-inline'" in text, True)
        expect("addresses", text.replace("http://www.w3.org/2000/svg", "").count("://"), 0)
        for kind in ("measured", "held", "stale", "unreadable"):
            expect(f"{kind} stretches drawn", f'<path class="{kind}"' in text, kind != "held")

        run(kymo, "report", "--top", "1", "--slowest-frames", "0", "-o", folder / "short.html", capture)
        short = Page((folder / "short.html").read_text(encoding="utf-8"))
        expect("rows of --top 1", len(short.rows("scopes", "scope")), 1)
        expect("tables of frames", len(short.tables["frames"]), 1)

        # A command line is a name as well; a directory is a recording of all that is in it.
        both = folder / "both"
        both.mkdir()
        run(kymo, "record", "-o", both / "run.kymo", "--", recorded_program, "scopes", "7", "<script>x</script>")
        page = write_report(kymo, folder, [both])
        expect("a section of joules where no power was read", "energy" in page.sections, False)
        expect("links to sections", page.links, [f"#{section}" for section in page.sections])
        (both / "hostile.kymo").write_bytes(capture.read_bytes())
        page = write_report(kymo, folder, [both])
        check_names(page, ["scopes 7 <script>x</script>", "nothing ties its clock"])
        expect("sites of both", {"work", "load"} <= {name for name, _ in page.rows("scopes", "scope")}, True)

        # A page of a recording that was killed at once, and of what beyond its command line holds nothing.
        (folder / "cut.kymo").write_bytes(capture.read_bytes()[:600])
        page = write_report(kymo, folder, [folder / "cut.kymo"], status=3)
        check_names(page, ["was not closed", "Nothing was recorded", "0 scopes of 0 sites"])
        for section in ("frames", "scopes", "spans", "metrics", "phases"):
            expect(f"a section of {section}", section in page.sections, False)

        check_length(kymo, folder)

        # What is damaged is told on top, and the rest is there.
        damaged = bytearray(capture.read_bytes())
        damaged[len(damaged) // 2] ^= 0xFF
        (folder / "damaged.kymo").write_bytes(damaged)
        page = write_report(kymo, folder, [folder / "damaged.kymo"], status=3)
        check_names(page, ["Before you go by the numbers", "damaged.kymo"])
        run(kymo, "report", "-o", "/dev/full", capture, status=1)
        run(kymo, "report", "-o", folder / "none.html", folder / "missing.kymo", status=1)
        expect("a page of nothing", (folder / "none.html").exists(), False)


if __name__ == "__main__":
    main()
