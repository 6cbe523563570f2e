"""``python -m kymograph._run OPTIONS script.py``: runs `kymograph._script` under a module name of its own."""

from kymograph._script import main

main()
