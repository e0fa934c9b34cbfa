"""Fails with a message."""

import sys

raise RuntimeError(sys.argv[1])
