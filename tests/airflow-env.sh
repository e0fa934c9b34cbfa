#!/bin/sh
# Makes virtual environments with the releases of Airflow that `tests/it/convert.rs` asks, where they are not there yet.
# Python 3.11 and 3.12 and PyPI are needed; afterwards nothing is.
set -eu
three=${ANKUS_AIRFLOW3:-/tmp/airflow3}
two=${ANKUS_AIRFLOW2:-/tmp/airflow210}
providers="apache-airflow-providers-apache-spark apache-airflow-providers-ssh apache-airflow-providers-smtp
    apache-airflow-providers-apache-livy apache-airflow-providers-cncf-kubernetes"

# The Python of a release: the one of that name if it starts, or one of pyenv's.
python_of() {
    for python in "python$1" "$HOME/.pyenv/versions/$1".*/bin/python; do
        if "$python" -c '' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
    echo "there is no Python $1" >&2
    exit 1
}

# An environment in a folder, with a release of Python, the providers of HDFS and Hive and packages. Those two come without what
# Kerberos needs, which is built from C: nothing here reaches a cluster.
make_env() {
    folder=$1
    python=$(python_of "$2")
    hdfs=$3
    hive=$4
    shift 4
    rm -rf "$folder"
    "$python" -m venv "$folder"
    # shellcheck disable=SC2086
    "$folder/bin/pip" install -q "$@" $providers hdfs
    "$folder/bin/pip" install -q --no-deps "$hdfs" "$hive"
}

if [ ! -x "$three/bin/airflow" ]; then
    make_env "$three" 3.12 apache-airflow-providers-apache-hdfs apache-airflow-providers-apache-hive apache-airflow==3.3.2 apache-airflow-providers-standard
fi
if [ ! -x "$two/bin/airflow" ]; then
    make_env "$two" 3.11 'apache-airflow-providers-apache-hdfs<4.11' 'apache-airflow-providers-apache-hive<9.2' apache-airflow==2.10.5
fi
