#!/bin/sh
# Makes virtual environments with the releases of Airflow that `tests/it/convert.rs` asks, where they are not there yet.
# Python 3.11 and 3.12 and PyPI are needed; afterwards nothing is.
set -eu
three=${ANKUS_AIRFLOW3:-/tmp/airflow3}
two=${ANKUS_AIRFLOW2:-/tmp/airflow210}
providers="apache-airflow-providers-apache-hdfs apache-airflow-providers-apache-spark apache-airflow-providers-ssh apache-airflow-providers-smtp"
if [ ! -x "$three/bin/airflow" ]; then
    python3.12 -m venv "$three"
    # shellcheck disable=SC2086
    "$three/bin/pip" install -q apache-airflow==3.3.2 apache-airflow-providers-standard $providers
fi
if [ ! -x "$two/bin/airflow" ]; then
    python3.11 -m venv "$two"
    # shellcheck disable=SC2086
    "$two/bin/pip" install -q apache-airflow==2.10.5 $providers
fi
