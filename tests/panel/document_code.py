"""The C++ of a document as one file that can be included: document_code.py DOCUMENT OUTPUT"""

import re
import sys
from pathlib import Path

document, output = map(Path, sys.argv[1:])
text = document.read_text(encoding="utf-8")
pieces = []
for block in re.finditer(r"^```cpp\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
    line = text.count("\n", 0, block.start(1)) + 1
    pieces.append(f'#line {line} "{document}"\n{block[1]}')
if not pieces:
    sys.exit(f"{document} has no C++")
output.write_text("".join(pieces), encoding="utf-8")
