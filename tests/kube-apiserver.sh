#!/usr/bin/env bash
# Builds the API server of Kubernetes from the modules of the Go proxy, for tests/it/kubernetes.rs: `tests/kube-apiserver.sh DIR`.
# Takes about 9 minutes of processor time, once. etcd comes from the distribution (Debian: etcd-server).
set -euo pipefail
version=1.35.4
folder=$(mkdir -p "${1:?the folder to build in}" && cd "$1" && pwd)
if [ -x "$folder/kube-apiserver" ]; then
  echo "ANKUS_KUBE_APISERVER=$folder/kube-apiserver"
  exit
fi
export GOFLAGS=-mod=mod
cd "$folder"
module=$(go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
rm -rf source
cp -r --no-preserve=mode "$module" source
cd source
# What the module takes from its own tree is published with the number of the release after "0.".
sed -i "s#\(k8s.io/[a-z-]*\) => ./staging/src/k8s.io/[a-z-]*#\1 => \1 v0.${version#1.}#" go.mod
rm -rf vendor go.work go.work.sum
go build -o "$folder/kube-apiserver" ./cmd/kube-apiserver
echo "ANKUS_KUBE_APISERVER=$folder/kube-apiserver"
