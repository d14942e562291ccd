#!/usr/bin/env bash
# Runs a command beside a real ssh server on loopback, as this user, with keys of its own.
#
#   bench/with_ssh.bash COMMAND WORDS...
#
# The command finds the device's name in $DEVICE, the server's process in $SSH_SERVER, and KW_SSH_CONFIG set. Example:
#   bench/with_ssh.bash bash -c 'build/ci/bin/kw_device_bench overhead "$DEVICE"'
set -euo pipefail
# SHLVL: a bash that is not the first one leaves out ~/.bashrc, which may take longer than all that is measured.
folder=$(mktemp -d); port=$((20000 + $$ % 20000))
ssh-keygen -q -t ed25519 -N '' -f "$folder/host"
ssh-keygen -q -t ed25519 -N '' -f "$folder/user"
printf '%s\n' "Port $port" 'ListenAddress 127.0.0.1' "HostKey $folder/host" "AuthorizedKeysFile $folder/user.pub" 'StrictModes no' 'UsePAM no' \
  'PidFile none' 'PermitRootLogin yes' 'SetEnv SHLVL=2' > "$folder/sshd_config"
printf '%s\n' 'Host *' "IdentityFile $folder/user" 'IdentitiesOnly yes' "UserKnownHostsFile $folder/known" 'StrictHostKeyChecking accept-new' > "$folder/config"
[[ $(id -u) != 0 ]] || mkdir -p /run/sshd
/usr/sbin/sshd -D -E "$folder/log" -f "$folder/sshd_config" & server=$!
trap 'kill "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT
sleep 1
DEVICE=ssh:127.0.0.1:$port SSH_SERVER=$server KW_SSH_CONFIG=$folder/config "$@"
