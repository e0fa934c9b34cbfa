#!/bin/sh
# Makes a virtual environment with o2a, which `cargo xtask bench-converters` compares with, where it is not there yet. PyPI is
# needed, and the environment of Airflow 2.10 that tests/airflow-env.sh makes, whose packages it shares.
set -eu
folder=${ANKUS_O2A:-/tmp/o2a-env}
two=${ANKUS_AIRFLOW2:-/tmp/airflow210}

if [ ! -x "$folder/bin/o2a" ]; then
    python=$(readlink -f "$two/bin/python")
    rm -rf "$folder"
    "$python" -m venv "$folder"
    for packages in "$folder"/lib/python3.*/site-packages; do
        echo "$two/lib/$(basename "$(dirname "$packages")")/site-packages" > "$packages/airflow.pth"
    done
    "$folder/bin/pip" install -q --no-deps --ignore-installed o2a==2.0.1 autoflake==1.4 black==23.3.0 click isort==5.7.0 \
        lark-parser==0.11.1 mypy_extensions pathspec platformdirs pyflakes
fi
