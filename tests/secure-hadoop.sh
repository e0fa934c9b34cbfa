#!/usr/bin/env bash
# Starts HDFS and YARN with Kerberos for tests/it/secure.rs: `tests/secure-hadoop.sh DIR`, then `export ANKUS_SECURE_HADOOP=DIR`.
# A KDC (Debian's krb5-kdc, krb5-admin-server, krb5-user) and four Java virtual machines; the jars of Hadoop 3.4.1 come from
# Maven's registry, or from the folder HADOOP_JARS. The service user `etl` has a keytab and may impersonate everybody.
# Jobs need to be without reduce tasks: their input is read with Hadoop's native library, which is in no registry.
# Stop: kill $(cat DIR/pids).
set -euo pipefail
dir=$(mkdir -p "${1:?the folder for the cluster}" && cd "$1" && pwd) && cd "$dir"
export PATH=/usr/sbin:$PATH USER=${USER:-root} KRB5_CONFIG=$dir/krb5.conf KRB5_KDC_PROFILE=$dir/kdc.conf
if [ -n "${HADOOP_JARS:-}" ]; then ln -sfn "$HADOOP_JARS" lib; fi
if [ ! -d lib ]; then
  {
    echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
    echo '<groupId>ankus</groupId><artifactId>secure</artifactId><version>1</version><dependencies>'
    for part in hdfs yarn-server-resourcemanager yarn-server-nodemanager yarn-client mapreduce-client-jobclient \
      mapreduce-client-shuffle mapreduce-client-app distcp; do
      echo "<dependency><groupId>org.apache.hadoop</groupId><artifactId>hadoop-$part</artifactId><version>3.4.1</version></dependency>"
    done
    echo '</dependencies></project>'
  } > pom.xml
  mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib
fi
# Each cluster has ports of its own.
read -r -a ports < <(python3 - <<'PY'
import socket
sockets = [socket.socket() for _ in range(16)]
for each in sockets: each.bind(("127.0.0.1", 0))
print(*(each.getsockname()[1] for each in sockets))
PY
)
port() { echo "localhost:${ports[$1]}"; }
cat > krb5.conf <<K
[libdefaults]
 default_realm = ANKUS.TEST
 dns_lookup_kdc = false
 dns_lookup_realm = false
 rdns = false
 dns_canonicalize_hostname = false
 udp_preference_limit = 1
[realms]
 ANKUS.TEST = {
  kdc = 127.0.0.1:${ports[0]}
 }
[domain_realm]
 localhost = ANKUS.TEST
K
cat > kdc.conf <<K
[realms]
 ANKUS.TEST = {
  database_name = $dir/principal
  key_stash_file = $dir/stash
  kdc_listen = 127.0.0.1:${ports[0]}
  kdc_tcp_listen = 127.0.0.1:${ports[0]}
 }
K
kdb5_util create -s -r ANKUS.TEST -P x > setup.log 2>&1
for name in HTTP/localhost hdfs/localhost yarn/localhost etl; do
  kadmin.local -q "addprinc -randkey $name" >> setup.log 2>&1
  kadmin.local -q "ktadd -k $dir/keytab $name" >> setup.log 2>&1
done
krb5kdc -n > kdc.log 2>&1 < /dev/null & echo $! > pids
mkdir -p conf && head -c 60 /dev/urandom | base64 -w0 > secret
file() {
  { echo '<configuration>'
    while read -r name value; do
      [ -z "$name" ] || echo "<property><name>$name</name><value>$value</value></property>"
    done
    echo '</configuration>'; } > "conf/$1"
}
options="--add-opens java.base/java.lang=ALL-UNNAMED -XX:TieredStopAtLevel=1 -Djava.security.krb5.conf=$dir/krb5.conf"
file core-site.xml <<P
fs.defaultFS hdfs://$(port 1)
hadoop.tmp.dir $dir/tmp
hadoop.security.authentication kerberos
hadoop.security.authorization true
hadoop.proxyuser.etl.hosts *
hadoop.proxyuser.etl.users *
hadoop.proxyuser.yarn.hosts *
hadoop.proxyuser.yarn.users *
hadoop.http.filter.initializers org.apache.hadoop.security.AuthenticationFilterInitializer
hadoop.http.authentication.type kerberos
hadoop.http.authentication.kerberos.principal HTTP/localhost@ANKUS.TEST
hadoop.http.authentication.kerberos.keytab $dir/keytab
hadoop.http.authentication.signature.secret.file $dir/secret
P
file hdfs-site.xml <<P
dfs.replication 1
dfs.namenode.name.dir $dir/nn
dfs.datanode.data.dir $dir/dn
dfs.namenode.http-address $(port 2)
dfs.datanode.address $(port 3)
dfs.datanode.http.address $(port 4)
dfs.datanode.ipc.address $(port 5)
dfs.block.access.token.enable true
dfs.namenode.kerberos.principal hdfs/localhost@ANKUS.TEST
dfs.namenode.keytab.file $dir/keytab
dfs.datanode.kerberos.principal hdfs/localhost@ANKUS.TEST
dfs.datanode.keytab.file $dir/keytab
dfs.web.authentication.kerberos.principal HTTP/localhost@ANKUS.TEST
dfs.web.authentication.kerberos.keytab $dir/keytab
dfs.data.transfer.protection authentication
ignore.secure.ports.for.testing true
dfs.namenode.delegation.token.renew-interval 60000
P
file yarn-site.xml <<P
yarn.resourcemanager.hostname localhost
yarn.resourcemanager.webapp.address $(port 6)
yarn.resourcemanager.address $(port 7)
yarn.resourcemanager.scheduler.address $(port 8)
yarn.resourcemanager.resource-tracker.address $(port 9)
yarn.resourcemanager.admin.address $(port 10)
yarn.nodemanager.address $(port 11)
yarn.nodemanager.localizer.address $(port 12)
yarn.nodemanager.webapp.address $(port 13)
yarn.nodemanager.collector-service.address $(port 14)
yarn.nodemanager.local-dirs $dir/nmlocal
yarn.nodemanager.log-dirs $dir/nmlog
yarn.nodemanager.aux-services mapreduce_shuffle
yarn.nodemanager.resource.memory-mb 4096
yarn.scheduler.minimum-allocation-mb 128
yarn.nodemanager.vmem-check-enabled false
yarn.nodemanager.disk-health-checker.enable false
yarn.application.classpath $dir/conf,$dir/lib/*
yarn.resourcemanager.principal yarn/localhost@ANKUS.TEST
yarn.resourcemanager.keytab $dir/keytab
yarn.nodemanager.principal yarn/localhost@ANKUS.TEST
yarn.nodemanager.keytab $dir/keytab
yarn.resourcemanager.delegation.token.renew-interval 60000
yarn.acl.enable true
yarn.admin.acl yarn
P
file mapred-site.xml <<P
mapreduce.framework.name yarn
mapreduce.shuffle.port ${ports[15]}
yarn.app.mapreduce.am.staging-dir /user
mapreduce.application.classpath $dir/conf,$dir/lib/*
yarn.app.mapreduce.am.command-opts -Xmx300m $options
mapreduce.map.java.opts -Xmx180m $options
mapreduce.map.memory.mb 256
mapreduce.reduce.memory.mb 256
yarn.app.mapreduce.am.resource.mb 512
mapreduce.task.io.sort.mb 20
P
file capacity-scheduler.xml <<'P'
yarn.scheduler.capacity.root.queues default
yarn.scheduler.capacity.root.default.capacity 100
yarn.scheduler.capacity.maximum-am-resource-percent 0.9
yarn.scheduler.capacity.root.acl_administer_queue yarn
yarn.scheduler.capacity.root.default.acl_administer_queue yarn
P
echo 'log4j.rootLogger=ERROR,A
log4j.appender.A=org.apache.log4j.ConsoleAppender
log4j.appender.A.target=System.err
log4j.appender.A.layout=org.apache.log4j.SimpleLayout' > conf/log4j.properties
mkdir -p bin && cat > bin/hadoop <<H
#!/usr/bin/env bash
case "\$1" in
  fs) main=org.apache.hadoop.fs.FsShell;;
  job) main=org.apache.hadoop.mapred.JobClient;;
  distcp) main=org.apache.hadoop.tools.DistCp;;
  *) echo "hadoop: \$1 is not known here" >&2; exit 2;;
esac
shift
exec java -Xmx300m $options -cp "$dir/conf:$dir/lib/*:\$HADOOP_CLASSPATH" \$main "\$@"
H
chmod +x bin/hadoop
java() { command java -Xmx350m $options -cp "conf:lib/*" "$@"; }
java org.apache.hadoop.hdfs.server.namenode.NameNode -format -nonInteractive > format.log 2>&1
for daemon in hdfs.server.namenode.NameNode hdfs.server.datanode.DataNode \
  yarn.server.resourcemanager.ResourceManager yarn.server.nodemanager.NodeManager; do
  # shellcheck disable=SC2086 # these are words
  command java -Xmx350m $options -cp "conf:lib/*" "org.apache.hadoop.$daemon" > "${daemon##*.}.log" 2>&1 < /dev/null &
  echo $! >> pids
done
kinit -k -t keytab -c hdfs.cache hdfs/localhost && kinit -k -t keytab -c etl.cache etl
export KRB5CCNAME=$dir/etl.cache
for _ in $(seq 120); do
  if curl -s --negotiate -u : "http://$(port 6)/ws/v1/cluster/metrics" | grep -q '"activeNodes":1'; then break; fi
  sleep 1
done
super() { KRB5CCNAME=$dir/hdfs.cache bin/hadoop fs "$@"; }
super -mkdir -p /tmp /user/alice /user/etl && super -chmod 1777 /tmp /user
super -chown alice /user/alice && super -chown etl /user/etl
printf 'hdfs=%s\nwebhdfs=%s\nrm=%s\nweb=%s\n' "$(port 1)" "$(port 2)" "$(port 7)" "$(port 6)" > addresses
echo "ANKUS_SECURE_HADOOP=$dir"
