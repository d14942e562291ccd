#!/usr/bin/env bash
# Judges kernels on a device behind a real ssh server on loopback while the link is cut again and again, and counts verdicts.
#
#   bench/device_cuts.bash KW [KERNELS] [CUTS] [EVERY_S]
#
# KW: the program. A batch of KERNELS plain kernels (20) is judged with `kw eval --batch --on ssh:...`; every EVERY_S seconds (3) the agent, the
# ssh client or the server's process of the connection is killed, CUTS times (50) in all. Prints how many verdicts came, and exits 1 where one is lost or not accepted.
set -euo pipefail
[[ ${SSH_SERVER:-} ]] || exec "$(dirname "$0")/with_ssh.bash" "$0" "$@"
kw=$(realpath "$1"); kernels=${2:-20}; cuts=${3:-50}; every=${4:-3}
folder=$(mktemp -d); batch=
trap '[[ -z $batch ]] || kill "$batch" 2>/dev/null || true; rm -rf "$folder"' EXIT

"$kw" tasks --json | python3 -c '
import json, sys
tasks = json.load(sys.stdin)
for task in tasks[:: max(len(tasks) // int(sys.argv[1]), 1)][: int(sys.argv[1])]: print(task["name"])' "$kernels" > "$folder/names"
while read -r name; do
  "$kw" init "$name" --out "$folder/$name.cpp" > /dev/null
  printf '{"task": "%s", "file": "%s.cpp"}\n' "$name" "$name"
done < "$folder/names" > "$folder/batch.jsonl"

cd "$folder"
"$kw" eval --batch batch.jsonl --on "$DEVICE" --fresh --no-store --quiet --json > "$folder/verdicts" & batch=$!
done_cuts=0 turn=0
while ((done_cuts < cuts)) && kill -0 "$batch" 2>/dev/null; do
  sleep "$every"
  # In turn the agent, the ssh client, and the server's end of the whole connection: of our own server alone.
  case $((turn++ % 3)) in
    0) victim=$(for session in $(pgrep -P "$SSH_SERVER"); do pgrep -P "$session" -f agent- || pgrep -P "$(pgrep -P "$session" | head -1)" -f agent-; done 2>/dev/null | head -1 || true) ;;
    1) victim=$(pgrep -f "ssh .*-F $KW_SSH_CONFIG" | head -1 || true) ;;
    2) victim=$(pgrep -P "$SSH_SERVER" | head -1 || true) ;;
  esac
  [[ -z $victim ]] || { kill -KILL "$victim" 2>/dev/null && done_cuts=$((done_cuts + 1)); }
done
status=0; wait "$batch" || status=$?
batch=
accepted=$(grep -c '"accepted":true' "$folder/verdicts" || true)
echo "$(wc -l < "$folder/names") kernels, the link cut $done_cuts times: $(wc -l < "$folder/verdicts") verdicts, $accepted accepted (kw ended with $status)"
grep -v '"accepted":true' "$folder/verdicts" | cut -c1-300 || true
((accepted == $(wc -l < "$folder/names")))
