"""``python -m kymo._run OPTIONS script.py``: what `kymo._script` does, under a name apart from the script's."""

from kymo._script import main

main()
