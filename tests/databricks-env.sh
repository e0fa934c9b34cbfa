#!/bin/sh
# Makes a virtual environment with the models of Databricks that `tests/it/convert_databricks.rs` asks, where it is not there yet.
# Python 3.10 or later and PyPI are needed; afterwards nothing is.
set -eu
folder=${ANKUS_DATABRICKS:-/tmp/databricks-env}
if [ ! -x "$folder/bin/python" ]; then
    python3 -m venv "$folder"
    "$folder/bin/pip" install -q databricks-bundles databricks-sdk pyyaml
fi
