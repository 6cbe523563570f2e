"""The report of words a sentence ends quietly where nobody reads it to its end."""

import os
import pathlib
import signal
import subprocess
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "words.py"


class WordsTest(unittest.TestCase):
    def test_a_reader_that_left_is_no_error(self) -> None:
        reading, writing = os.pipe()
        os.close(reading)
        try:
            said = subprocess.run([SCRIPT], stdout=writing, stderr=subprocess.PIPE, check=False)
        finally:
            os.close(writing)
        self.assertEqual((said.returncode, said.stderr), (-signal.SIGPIPE, b""))


if __name__ == "__main__":
    unittest.main()
