#!/bin/sh
# Makes a virtual environment with the release of Prefect that `tests/it/convert_prefect.rs` asks, where it is not there yet.
# Python 3.11 or later and PyPI are needed; afterwards nothing is.
set -eu
folder=${ANKUS_PREFECT:-/tmp/prefect3}
if [ ! -x "$folder/bin/prefect" ]; then
    rm -rf "$folder"
    python3 -m venv "$folder"
    # This release does not start with the newest FastAPI.
    "$folder/bin/pip" install -q prefect==3.8.8 'fastapi<0.140'
fi
