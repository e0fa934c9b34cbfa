"""Fails with a message."""

import sys

# `@{}` keeps apart what Databricks would read as a reference.
raise RuntimeError(sys.argv[1].replace("@{}", ""))
