# Where this binary is not: submits a job of map-reduce, asks for it until it has ended, and ends as the job did.
# What the client says goes on to our own streams, and is kept to find the id of the job in it.
[ -z "$ANKUS_CONFIG_CLASS" ] || configure "$1" "$OOZIE_ACTION_CONF_XML" "$4" || exit 1
said=$ANKUS_ATTEMPT/said
: > "$said" || exit 127
{ { "$@"; echo $? > "$said.code"; } 2>&1 >&3 3>&- | tee -a "$said" >&2 3>&-; } 3>&1 | tee -a "$said"
code=$(cat "$said.code") || exit 1
[ "$code" = 0 ] || exit "$code"
client=$1
# Of streaming and pipes the client waits, and its end is that of the job.
waited=yes
[ "$2" = job ] && waited=
id=$(tr -c 'A-Za-z0-9_' '\n' < "$said" | grep -E '^job_(local)?[0-9]+_[0-9]{4,}$' | tail -n 1)
case $id in
'')
  [ -n "$waited" ] && echo "[$client printed no id of a job, so its counters are not known]" >&2 && exit 0
  echo "$client printed no id of a job, so it is unknown whether one was submitted" >&2
  exit 2 ;;
job_local*)
  [ -n "$waited" ] && exit 0
  echo "the job $id was to run in the client itself, which ended first; name a resource manager" >&2
  exit 1 ;;
esac
# Where jobs leave their history, by their ids, with how they ended.
value() { sed -n "s|.*<name>$1</name><value>\([^<]*\)</value>.*|\1|p" "$OOZIE_ACTION_CONF_XML"; }
folder=$(value mapreduce.jobhistory.intermediate-done-dir) staging=$(value yarn.app.mapreduce.am.staging-dir)
folder=${folder:-${staging:-/tmp/hadoop-yarn/staging}/history/done_intermediate}
# The client may not look into the folders of other users, and with Kerberos the user has another name.
history() {
  "$client" fs "$1" "$folder/$HADOOP_USER_NAME/$id-*.jhist" 2> /dev/null || "$client" fs "$1" "$folder/*/$id-*.jhist" 2> /dev/null
}
pause=2
failures=0
while :; do
  "$client" job -status "$id" > "$said.status" 2> /dev/null
  state=$(sed -n 's/^[[:space:]]*Job state:[[:space:]]*\([A-Z]*\).*/\1/p' "$said.status" | head -n 1)
  # Of a job that has ended the client knows only what a history server tells.
  [ -n "$state" ] || state=$(history -ls |
    sed -n "s/.*$id-.*-\(SUCCEEDED\|FAILED\|KILLED\)-[^/]*\.jhist$/\1/p" | head -n 1)
  case $state in
  SUCCEEDED)
    # The history has the names that programs know; the client has those for people.
    history -cat | grep totalCounters | tail -n 1 > "$said.counters"
    # So much comes back from any place.
    size=$(wc -c < "$said.counters")
    if [ "$size" -gt 0 ] && [ "$size" -le 12000 ]; then
      mv "$said.counters" "$ANKUS_ATTEMPT/counters.json"
    else
      mv "$said.status" "$ANKUS_ATTEMPT/counters.json"
    fi
    exit 0 ;;
  FAILED | KILLED)
    reason=$(sed -n 's/^[[:space:]]*reason for failure:[[:space:]]*//p' "$said.status" | head -n 1)
    echo "the job $id ended $state${reason:+: $reason}" >&2
    exit 1 ;;
  '')
    failures=$((failures + 1))
    [ "$failures" -lt 20 ] || { echo "nothing is known of the job $id any more" >&2; exit 2; } ;;
  *) failures=0 ;;
  esac
  sleep "$pause"
  pause=$((pause * 3 / 2))
  [ "$pause" -le 15 ] || pause=15
done
