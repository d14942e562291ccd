#!/usr/bin/env bash
# Judges kernels on a device behind a real ssh server on loopback while the link is cut again and again, and counts verdicts.
#
#   bench/device_cuts.bash KW [KERNELS] [CUTS] [EVERY_S]
#
# KW: the program. A batch of KERNELS plain kernels (20) is judged with `kw eval --batch --on ssh:...`; every EVERY_S seconds (3) one agent is
# killed, in turn with its ssh client, CUTS times (50). Prints how many verdicts came, and exits 1 where one is lost or not accepted.
set -euo pipefail
kw=$(realpath "$1"); kernels=${2:-20}; cuts=${3:-50}; every=${4:-3}
folder=$(mktemp -d); port=$((20000 + $$ % 20000))
server= batch=
trap 'for p in $server $batch; do kill "$p" 2>/dev/null || true; done; rm -rf "$folder"' EXIT

ssh-keygen -q -t ed25519 -N '' -f "$folder/host"
ssh-keygen -q -t ed25519 -N '' -f "$folder/user"
printf '%s\n' "Port $port" 'ListenAddress 127.0.0.1' "HostKey $folder/host" "AuthorizedKeysFile $folder/user.pub" 'StrictModes no' 'UsePAM no' \
  'PidFile none' 'PermitRootLogin yes' > "$folder/sshd_config"
printf '%s\n' 'Host *' "IdentityFile $folder/user" 'IdentitiesOnly yes' "UserKnownHostsFile $folder/known" 'StrictHostKeyChecking accept-new' > "$folder/config"
[[ $(id -u) != 0 ]] || mkdir -p /run/sshd
/usr/sbin/sshd -D -E "$folder/log" -f "$folder/sshd_config" & server=$!
sleep 1

"$kw" tasks --json | python3 -c '
import json, sys
tasks = json.load(sys.stdin)
for task in tasks[:: max(len(tasks) // int(sys.argv[1]), 1)][: int(sys.argv[1])]: print(task["name"])' "$kernels" > "$folder/names"
while read -r name; do
  "$kw" init "$name" --out "$folder/$name.cpp" > /dev/null
  printf '{"task": "%s", "file": "%s.cpp"}\n' "$name" "$name"
done < "$folder/names" > "$folder/batch.jsonl"

export KW_SSH_CONFIG=$folder/config
cd "$folder"
"$kw" eval --batch batch.jsonl --on "ssh:127.0.0.1:$port" --fresh --no-store --quiet --json > "$folder/verdicts" & batch=$!
done_cuts=0 turn=0
while ((done_cuts < cuts)) && kill -0 "$batch" 2>/dev/null; do
  sleep "$every"
  # The client's end of the link, or the agent: of our own server's sessions alone.
  if ((turn++ % 2)); then
    victim=$(pgrep -f "ssh .*-F $folder/config" | head -1 || true)
  else
    victim=$(for session in $(pgrep -P "$server"); do pgrep -P "$session" -f agent- || pgrep -P "$(pgrep -P "$session" | head -1)" -f agent-; done 2>/dev/null | head -1 || true)
  fi
  [[ -z $victim ]] || { kill -KILL "$victim" 2>/dev/null && done_cuts=$((done_cuts + 1)); }
done
status=0; wait "$batch" || status=$?
batch=
accepted=$(grep -c '"accepted":true' "$folder/verdicts" || true)
echo "$(wc -l < "$folder/names") kernels, the link cut $done_cuts times: $(wc -l < "$folder/verdicts") verdicts, $accepted accepted (kw ended with $status)"
grep -v '"accepted":true' "$folder/verdicts" | cut -c1-300 || true
((accepted == $(wc -l < "$folder/names")))
