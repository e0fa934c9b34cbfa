#!/bin/sh
# Makes a virtual environment with an interpreter of the Amazon States Language and a JSONata for it, which `tests/it/replay.rs`
# asks, and with an emulator of S3, for `tests/it/buckets.rs`, where it is not there yet. Python 3.11 or later and PyPI are
# needed; afterwards nothing is.
set -eu
folder=${ANKUS_MOTO:-/tmp/moto-env}
if [ ! -x "$folder/bin/flask" ]; then
    python3 -m venv "$folder"
    "$folder/bin/pip" install -q 'moto[s3,server,stepfunctions]==5.2.5' jsonata-python==0.7.1
fi
