"""``python -m kymo._run OPTIONS script.py``: runs `kymo._script` under a module name of its own."""

from kymo._script import main

main()
