"""Fails with a message."""

import sys

# `@{}` splits what Databricks would read as a reference.
raise RuntimeError(sys.argv[1].replace("@{}", ""))
