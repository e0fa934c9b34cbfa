#!/usr/bin/env bash
# Fetches the metastore of Hive 3 and what it needs from Maven's registry (130 jars, 100 MB), for tests/it/metastores.rs:
# `tests/hive-metastore.sh DIR`. Java 17 runs it.
set -euo pipefail
folder=$(mkdir -p "${1:?the folder for the jars}" && cd "$1" && pwd)
if [ ! -d "$folder/lib" ]; then
  cat > "$folder/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>ankus</groupId><artifactId>metastore</artifactId><version>1</version><dependencies>
<dependency><groupId>org.apache.hive</groupId><artifactId>hive-standalone-metastore</artifactId><version>3.1.3</version></dependency>
<dependency><groupId>org.apache.hadoop</groupId><artifactId>hadoop-client</artifactId><version>3.3.6</version></dependency>
</dependencies></project>
POM
  (cd "$folder" && mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib)
fi
echo "ANKUS_METASTORE_JARS=$folder/lib"
