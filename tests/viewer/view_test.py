"""`kymo view` and the examples with a panel, as users run them, on an X server without a monitor:

    xvfb-run -s "-screen 0 900x600x24 -fbdir FOLDER" view_test.py FOLDER KYMO [EXAMPLES]

Pictures are judged by where bars and boxes stand, never by letters.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import pictures

SCREEN = pathlib.Path(sys.argv[1]) / "Xvfb_screen0"
KYMO = sys.argv[2]
EXAMPLES = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None

FRAMES = 20
SLOW_FRAME = 13
FRAME_MS = 10
SLOW_MS = 50
WHOLE_MS = (FRAMES - 1) * FRAME_MS + SLOW_MS


def made_up_trace() -> dict[str, object]:
    """Frames of 10 ms and one of 50 ms; in the first half of each a thread works."""
    events: list[dict[str, object]] = []
    at_us = 1_000_000
    for number in range(FRAMES):
        length_us = 1000 * (SLOW_MS if number == SLOW_FRAME else FRAME_MS)
        span = {"ph": "X", "pid": 1, "ts": at_us}
        events.append({**span, "cat": "frame", "name": "frame", "tid": 1, "dur": length_us, "args": {"number": number}})
        events.append({**span, "cat": "scope", "name": "work", "tid": 2, "dur": length_us / 2, "args": {}})
        events.append({"ph": "C", "pid": 1, "ts": at_us, "name": "load", "args": {"load": number}})
        at_us += length_us
    return {"traceEvents": events}


class Case(unittest.TestCase):
    """A folder with a capture in it, and programs run there."""

    folder: pathlib.Path

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory(prefix="kymo-view-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "trace.json").write_text(json.dumps(made_up_trace()))
        words = [KYMO, "import", "-o", "run.kymo", "trace.json"]
        subprocess.run(words, cwd=cls.folder, check=True, capture_output=True)

    def environment(self, changes: dict[str, str | None]) -> dict[str, str]:
        """This one's without what asks a recorder for something, and with a layout of the test's own."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("KYMO_")}
        wanted = {**inherited, "XDG_CONFIG_HOME": str(self.folder / "config"), **changes}
        return {name: value for name, value in wanted.items() if value is not None}

    def run_program(self, *words: str, **changes: str | None) -> subprocess.CompletedProcess[str]:
        environment = self.environment(changes)
        return subprocess.run(
            words, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=100, check=False
        )

    def refused(self, *words: str, status: int, **changes: str | None) -> str:
        """What a program that ends with this status says."""
        result = self.run_program(*words, **changes)
        self.assertEqual(result.returncode, status, result.stderr + result.stdout)
        return result.stderr

    def succeed(self, *words: str, **changes: str | None) -> str:
        result = self.run_program(*words, **changes)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "")
        return result.stdout

    def judge_bars(self, rows: pictures.Rows) -> pictures.Bars:
        """The bars stand where the frames of the capture do."""
        bars = pictures.find_bars(rows)
        assert bars is not None
        per_ms = (bars.right - bars.left) / WHOLE_MS
        self.assertAlmostEqual(bars.bad_left, bars.left + SLOW_FRAME * FRAME_MS * per_ms, delta=4)
        self.assertAlmostEqual(bars.bad_right - bars.bad_left, SLOW_MS * per_ms, delta=4)
        self.assertAlmostEqual(bars.bad_height / bars.good_height, SLOW_MS / FRAME_MS, delta=1)
        return bars


class Screenshot(Case):
    """--screenshot, without a display."""

    def shoot(self, *words: str, captures: tuple[str, ...] = ("run.kymo",)) -> pictures.Rows:
        path = self.folder / "picture.png"
        path.unlink(missing_ok=True)
        self.assertEqual(self.succeed(KYMO, "view", "--screenshot", str(path), *words, *captures, DISPLAY=None), "")
        return pictures.read_png(path)

    def test_bars_and_boxes_stand_where_frames_and_scopes_ran(self) -> None:
        rows = self.shoot("--size", "1000x600")
        self.assertEqual((len(rows[0]), len(rows)), (1000, 600))
        bars = self.judge_bars(rows)
        left, right = pictures.find_widest_box(rows[:-40], bars.bottom + 10)  # without the tabs' titles
        axis = bars.right - bars.left
        self.assertAlmostEqual(left, bars.left + axis * SLOW_FRAME * FRAME_MS / WHOLE_MS, delta=8)
        self.assertAlmostEqual(right - left, axis * SLOW_MS / 2 / WHOLE_MS, delta=8)

    def test_a_link_shows_its_stretch(self) -> None:
        stretch = "20ms..70ms"
        words = ("--size", "800x500")
        self.assertEqual(self.shoot(*words, captures=(f"run.kymo#t={stretch}",)), self.shoot(*words, "--time", stretch))

    def test_a_link_pins_its_frame(self) -> None:
        words = ("--size", "800x500")
        self.assertEqual(
            self.shoot(*words, captures=(f"run.kymo#frame={SLOW_FRAME + 1}",)),
            self.shoot(*words, "--at", f"{SLOW_FRAME * FRAME_MS + 7}ms"),
        )
        self.assertIn("is no number", self.refused(KYMO, "view", "run.kymo#frame=0", status=2, DISPLAY=None))

    def test_it_replaces_pictures_of_its_own_and_no_other_file(self) -> None:
        words = (KYMO, "view", "--size", "320x200", "--screenshot", "mine.png", "run.kymo")
        path = self.folder / "mine.png"
        path.write_bytes(b"a holiday")
        self.assertIn("--force", self.refused(*words, status=1, DISPLAY=None))
        self.assertEqual(path.read_bytes(), b"a holiday")
        self.succeed(*words, "--force", DISPLAY=None)
        self.assertEqual(len(pictures.read_png(path)), 200)
        self.succeed(*words, DISPLAY=None)

    def test_the_frame_at_a_time_fills_the_flame_chart(self) -> None:
        for time_of in (f"{SLOW_FRAME * FRAME_MS + 7}ms", "0.045s"):
            rows = self.shoot("--size", "800x500", "--at", time_of)
            bars = self.judge_bars(rows)
            left, right = pictures.find_widest_box(rows, bars.bottom + 10)
            self.assertAlmostEqual(left, bars.left, delta=16, msg="one left edge")
            self.assertAlmostEqual(right - left, (bars.right - bars.left) / 2, delta=24, msg=time_of)

    def test_two_captures_stand_above_each_other_on_one_scale(self) -> None:
        rows = self.shoot("--size", "1000x900", "--base", "run.kymo")
        upper = self.judge_bars(rows)
        lower = self.judge_bars(rows[len(rows) * 2 // 5 :])
        self.assertEqual((lower.left, lower.right), (upper.left, upper.right))
        at_frame = self.shoot("--size", "1000x900", "--base", "run.kymo", "--align", "frame", "--at", "135ms")
        bars = self.judge_bars(at_frame)
        left, right = pictures.find_widest_box(at_frame[: len(rows) // 2], bars.bottom + 10)
        self.assertAlmostEqual(right - left, (bars.right - bars.left) / 2, delta=24, msg="the pinned frame in the base")
        self.assertEqual(
            left, pictures.find_widest_box(at_frame[len(rows) // 2 : -270], 10)[0], "and below it in the new"
        )

    def test_a_stretch_of_time_is_all_that_is_shown(self) -> None:
        rows = self.shoot("--size", "800x500", "--time", "0ms..120ms")
        self.assertIsNone(pictures.find_bars(rows), "the bad frame is later")
        self.assertTrue(any(pictures.is_good(colour) for row in rows for colour in row))

    def test_theme_scale_and_tab_are_as_asked_for(self) -> None:
        rows = self.shoot("--size", "800x500")
        self.assertLess(max(rows[0][0]), 64)
        bars = self.judge_bars(rows)
        self.assertNotEqual(pictures.find_widest_box(rows, bars.bottom + 10), (0, 0))
        tables = {word: self.shoot("--size", "800x500", "--tab", word)[-150:] for word in ("statistics", "frames")}
        self.assertNotEqual(tables["statistics"], rows[-150:])
        self.assertNotEqual(tables["statistics"], tables["frames"])
        rows = self.shoot("--size", "800x500", "--theme", "light")
        self.assertGreater(min(rows[0][0]), 200)
        self.assertNotEqual(pictures.find_widest_box(rows, self.judge_bars(rows).bottom + 10), (0, 0))
        large = self.judge_bars(self.shoot("--size", "1400x800", "--scale", "2"))
        self.assertAlmostEqual(large.left / bars.left, 2, delta=0.2)

    def test_a_directory_a_growing_file_and_no_file_at_all_are_pictures_too(self) -> None:
        captures = self.folder / "captures"
        captures.mkdir()
        whole = (self.folder / "run.kymo").read_bytes()
        (captures / "cut.kymo").write_bytes(whole[: len(whole) * 3 // 4])
        shutil.copy(self.folder / "run.kymo", captures)
        shot = self.run_program(
            KYMO, "view", "--screenshot", "cut.png", "--size", "640x400", str(captures), DISPLAY=None
        )
        self.assertEqual(shot.returncode, 3, shot.stderr)
        self.assertRegex(shot.stderr, "^warning: .*cut.kymo: 1 damaged place .* cannot be read\n$")
        self.assertIsNotNone(pictures.find_bars(pictures.read_png(self.folder / "cut.png")))
        self.assertEqual(len(self.shoot("--size", "320x200", captures=())), 200)

    def test_what_makes_no_sense_is_refused(self) -> None:
        for words, said in (
            (("--size", "10x10"), "10x10 is no size: 1600x900"),
            (("--size", "1600"), "1600 is no size"),
            (("--size", "99999x900"), "99999x900 is no size"),
            (("--size", "800x-600"), "800x-600 is no size"),
            (("--at", "yesterday"), "yesterday is no time: 12.5s"),
            (("--at", "-3s"), "--at"),
            (("--time", "2s..1s"), "2s..1s is no stretch of time"),
            (("--theme", "blue"), "--theme"),
            (("--scale", "0"), "--scale"),
            (("--tab", "none"), "--tab"),
            (("--quit-after", "3"), "--quit-after"),
            (("--unknown",), "--unknown"),
            (("--align", "frame"), "--base"),
            (("--base", "run.kymo", "--align", "middle"), "--align"),
            (("run.kymo#t=soon",), "soon is no stretch of time"),
        ):
            error = self.refused(KYMO, "view", "--screenshot", "never.png", *words, "run.kymo", status=2)
            self.assertIn(said, error)
        self.assertFalse((self.folder / "never.png").exists())

    def test_values_are_numbers_within_their_range(self) -> None:
        for option, value, said in (
            ("--scale", "nan", "nan is no number from 0.5 to 8"),
            ("--scale", "inf", "inf is no number from 0.5 to 8"),
            ("--scale", "", "needs a value"),
            ("--quit-after", "-1", "-1 is no whole number from 1"),
        ):
            self.assertIn(said, self.refused(KYMO, "view", option, value, "run.kymo", status=2))
        self.assertIn("needs a value", self.refused(KYMO, "view", "--scale=", "run.kymo", status=2))

    def test_files_that_cannot_be_opened_are_named(self) -> None:
        (self.folder / "text.kymo").write_text("this is no capture\n" * 100)
        (self.folder / "empty.kymo").write_bytes(b"")
        os.makedirs(self.folder / "nothing", exist_ok=True)
        for names in (["run.kymo", "missing.kymo"], ["run.kymo", "text.kymo"], ["empty.kymo"], ["run.kymo", "nothing"]):
            error = self.refused(KYMO, "view", "--screenshot", "never.png", *names, status=1)
            self.assertTrue(error.startswith("kymo: ") and names[-1] in error, error)
        left_out = self.run_program(KYMO, "view", "--screenshot", "with-empty.png", "run.kymo", "empty.kymo")
        self.assertEqual(left_out.returncode, 0, left_out.stderr)
        self.assertIn("warning: empty.kymo: is empty", left_out.stderr)
        error = self.refused(KYMO, "view", "--screenshot", "never.png", "--base", "missing.kymo", "run.kymo", status=1)
        self.assertIn("missing.kymo", error)
        error = self.refused(
            KYMO, "view", "--screenshot", "run.kymo", "--force", "--base", "run.kymo", "run.kymo", status=1
        )
        self.assertIn("run.kymo", error)
        self.assertIn("a capture to compare with", self.refused(KYMO, "view", "--base", "run.kymo", status=2))
        error = self.refused(KYMO, "view", "--screenshot", "no/such/folder/a.png", "run.kymo", status=1)
        self.assertIn("no/such/folder", error)
        self.assertFalse((self.folder / "never.png").exists())

    def test_a_damaged_capture_is_a_picture_of_what_is_left_or_a_clear_error(self) -> None:
        whole = (self.folder / "run.kymo").read_bytes()
        for at in range(0, len(whole), len(whole) // 4):
            damaged = bytearray(whole)
            damaged[at : at + 16] = bytes(255 - byte for byte in damaged[at : at + 16])
            (self.folder / "damaged.kymo").write_bytes(damaged)
            result = self.run_program(KYMO, "view", "--screenshot", "damaged.png", "--size", "320x200", "damaged.kymo")
            self.assertIn(result.returncode, (1, 3), f"damage at {at}: {result.stderr}")
            self.assertIn("damaged.kymo", result.stderr, "it says that something is missing, or why there is nothing")
            self.assertEqual(result.stderr.startswith("warning: "), result.returncode == 3, result.stderr)

    def test_a_machine_that_cannot_draw_says_what_it_lacks(self) -> None:
        words = (KYMO, "view", "--screenshot", "never.png", "run.kymo")
        error = self.refused(*words, status=1, __EGL_VENDOR_LIBRARY_FILENAMES="/nonexistent")
        self.assertIn("no picture can be drawn", error)
        self.assertIn("libegl-mesa0", error)
        error = self.refused(KYMO, "view", "run.kymo", status=1, DISPLAY=None, WAYLAND_DISPLAY=None)
        self.assertIn("no window can be opened", error)
        self.assertIn("--screenshot", error)

    def test_help_lists_the_options(self) -> None:
        said = self.succeed(KYMO, "view", "--help")
        for option in ("--screenshot", "--size", "--at", "--time", "--theme", "--scale", "--tab", "viewer.ini"):
            self.assertIn(option, said)
        self.assertIn("view", self.succeed(KYMO, "--help"))


class Window(Case):
    """A window, and what it remembers."""

    @property
    def layout(self) -> pathlib.Path:
        return self.folder / "config" / "kymo" / "viewer.ini"

    def remember(self, text: bytes) -> None:
        self.layout.parent.mkdir(parents=True, exist_ok=True)
        self.layout.write_bytes(text)

    def test_it_opens_where_it_was_shows_the_capture_and_remembers(self) -> None:
        self.remember(
            b"[kymo][window]\nplace=40,30\nsize=640,420\ntheme=light\n\n[Table][0x12345678,3]\nColumn 0  Order=200\n"
        )
        process = subprocess.Popen([KYMO, "view", "run.kymo"], cwd=self.folder, env=self.environment({}))
        try:
            deadline = time.monotonic() + 60
            rows: pictures.Rows = []
            while process.poll() is None and time.monotonic() < deadline:
                rows = pictures.part_of(pictures.read_screen(SCREEN), 40, 30, 640, 420)
                # The screen may be read while a picture is being put there.
                if pictures.find_bars(rows) is not None and min(rows[-1][-1]) > 200:
                    break
            self.judge_bars(rows)
            self.assertGreater(min(rows[0][0]), 200)
            self.assertGreater(min(rows[-1][-1]), 200)
            around = pictures.read_screen(SCREEN)
            self.assertEqual((around[29][39], around[450][680]), ((0, 0, 0), (0, 0, 0)))
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(60), 0)
        finally:
            process.kill()
            process.wait()
        text = self.layout.read_text()
        self.assertIn("place=40,30\nsize=640,420\nmaximised=0\ntheme=light\n", text)
        self.assertNotIn("Order=200", text)

        self.succeed(KYMO, "view", "--quit-after", "2", "--size", "500x300", "--theme", "dark", "run.kymo")
        self.assertIn("size=500,300\nmaximised=0\ntheme=dark\n", self.layout.read_text())
        self.succeed(KYMO, "view", "--quit-after", "2", "--tab", "statistics", "run.kymo")
        self.assertIn("size=500,300\nmaximised=0\ntheme=dark\n", self.layout.read_text())

    def test_whatever_stands_in_the_layout_it_opens(self) -> None:
        for text in (b"\xff\x00" * 50000, b"[kymo][window]\nsize=0,0\nplace=19999,19999\n[Table][0x,64]\n[[[\n"):
            self.remember(text)
            self.succeed(KYMO, "view", "--quit-after", "1", "--tab", "statistics", "run.kymo")
            self.assertIn("size=900,600\n", self.layout.read_text(), "the usual one has no room on this screen")
        self.layout.unlink()
        self.layout.mkdir()
        self.succeed(KYMO, "view", "--quit-after", "1")
        self.succeed(KYMO, "view", "--quit-after", "1", XDG_CONFIG_HOME="/proc/nowhere")
        self.succeed(KYMO, "view", "--quit-after", "1", XDG_CONFIG_HOME=None, HOME=None)
        self.layout.rmdir()

    def test_a_missing_capture_opens_no_window(self) -> None:
        self.assertIn("missing.kymo", self.refused(KYMO, "view", "missing.kymo", status=1))


@unittest.skipIf(EXAMPLES is None, "the examples are not built")
class Examples(Case):
    """The examples that show the panel."""

    def example(self, name: str) -> str:
        assert EXAMPLES is not None
        return str(EXAMPLES / name)

    def test_live_panel_draws_a_flock_and_what_the_program_does(self) -> None:
        capture, frames = self.folder / "live.kymo", 12
        words = (self.example("live_panel"), "--frames", str(frames), "--screenshot", "live.png")
        self.succeed(*words, DISPLAY=None, KYMO_RECORD=str(capture))
        rows = pictures.read_png(self.folder / "live.png")
        width, height = len(rows[0]), len(rows)
        self.assertEqual((width, height), (1600, 1000))
        # The panel's window stands where the program put it; birds are above it, frame bars in it.
        title = rows[height * 3 // 10 + 4][width // 2]
        self.assertGreater(max(title) - min(title), 40)
        self.assertEqual(rows[height * 3 // 10 + 4][width // 25 + 6], title)
        self.assertNotEqual(rows[height * 3 // 10 + 4][width // 25 - 4], title)
        birds = sum(max(colour) > 180 for row in rows[: height // 4] for colour in row)
        self.assertGreater(birds, 3000)
        upper = pictures.part_of(rows, width // 10, height // 3, width * 6 // 10, height // 6)
        bars = sum(
            any(pictures.is_bad(colour) or pictures.is_good(colour) for colour in column)
            for column in zip(*upper, strict=True)
        )
        self.assertGreater(bars, 100)
        panel = pictures.part_of(rows, width // 20, 0, width // 2, height)
        left, right = pictures.find_widest_box(panel, height * 55 // 100)
        self.assertGreater(right - left, 50, "the newest frame's scopes")

        stats = json.loads(self.succeed(KYMO, "stats", "--json", str(capture)))
        sites = {site["name"]: site["count"] for site in stats["sites"]}
        for name in ("step", "present"):
            self.assertEqual(sites[name], frames, name)
        for name in ("draw flock", "panel"):
            self.assertGreater(sites[name], frames, name)
        self.assertGreaterEqual(sites["steer"], frames)
        self.succeed(self.example("replay"), "--screenshot", "replay.png", str(capture), DISPLAY=None)
        rows = pictures.read_png(self.folder / "replay.png")
        self.assertGreater(sum(max(colour) - min(colour) > 60 for row in rows for colour in row), 5000)

    def test_replay_shows_captures_in_a_window_of_its_own(self) -> None:
        self.succeed(self.example("replay"), "--screenshot", "replay.png", "run.kymo", DISPLAY=None)
        self.judge_bars(pictures.read_png(self.folder / "replay.png"))

    def test_both_open_windows(self) -> None:
        self.succeed(self.example("live_panel"), "--frames", "2")
        self.succeed(self.example("replay"), "--frames", "2", "run.kymo")

    def test_custom_metrics_shows_a_programs_own_records(self) -> None:
        self.assertEqual(
            self.succeed(self.example("custom_metrics"), DISPLAY=None),
            "paused: yes\npaused: no\nframes kept: 120\nsomething is drawn: yes\n",
        )

    def test_they_say_what_they_do_not_understand(self) -> None:
        self.assertIn("missing.kymo", self.refused(self.example("replay"), "missing.kymo", status=1))
        self.assertIn("no capture", self.refused(self.example("replay"), status=2))
        error = self.refused(self.example("replay"), "--screenshot", "no/never.png", "run.kymo", status=1)
        self.assertIn("never.png", error)
        for name in ("replay", "live_panel"):
            self.assertIn("--frames N", self.succeed(self.example(name), "--help"))
            self.assertIn("--frames", self.refused(self.example(name), "--frames", "many", status=2))
        for name in ("replay", "live_panel"):
            words = (self.example(name), *(["run.kymo"] if name == "replay" else []))
            self.assertIn("display", self.refused(*words, status=1, DISPLAY=None, WAYLAND_DISPLAY=None))
        self.assertIn("extra", self.refused(self.example("live_panel"), "extra", status=2))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
