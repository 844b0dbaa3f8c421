"""``python -m fuseflow`` is the command line."""

from fuseflow.cli import main

main()
