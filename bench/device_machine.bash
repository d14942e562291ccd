#!/usr/bin/env bash
# Judges kernels on a whole emulated machine behind ssh while its link is cut and the machine itself is killed, and counts verdicts.
#
#   bench/device_machine.bash KW [KERNELS] [CUTS] [KILLS] [EVERY_S]
#
# KW: the program. A batch of plain kernels, of the KERNELS smallest tasks (20), is judged with `kw eval --batch --on ssh:...` on an arm64 machine in
# qemu-system-aarch64 (Debian: qemu-system-arm, debootstrap, debian-installer-12-netboot-arm64), whose processor is emulated too. Every EVERY_S seconds (20) the link is cut, by killing
# the ssh client or unplugging the machine's network for 3 s in turn, CUTS times (50) in all; KILLS times (5), spread over them, the machine is killed and started again. Prints how many
# verdicts came, and exits 1 where one is lost or not accepted.
#
# The machine is the installer's kernel and initrd with an archive behind it that replaces /init: no disk, nothing stays.
set -euo pipefail
kw=$(realpath "$1"); kernels=${2:-20}; cuts=${3:-50}; kills=${4:-5}; every=${5:-20}
for program in qemu-system-aarch64 debootstrap; do
  command -v "$program" > /dev/null || { echo "$program is missing: apt-get install qemu-system-arm debootstrap" >&2; exit 2; }
done
folder=$(mktemp -d); port=$((20000 + $$ % 20000)); machine='' batch=''
trap '[[ -z $batch ]] || kill "$batch" 2>/dev/null || true; [[ -z $machine ]] || kill -KILL "$machine" 2>/dev/null || true; rm -rf "$folder"' EXIT
cache=${XDG_CACHE_HOME:-$HOME/.cache}/kernelwright/device-machine
mkdir -p "$cache"

if [[ ! -e $cache/initrd.gz ]]; then
  (cd "$folder" && apt-get download -qq debian-installer-12-netboot-arm64 && dpkg-deb -x debian-installer-12-netboot-arm64_*.deb image && rm ./*.deb)
  debootstrap --arch=arm64 --variant=minbase --download-only --include=dropbear-bin bookworm "$folder/debs" > "$folder/debootstrap.log" || { tail "$folder/debootstrap.log" >&2; exit 2; }
  for package in dropbear-bin libc6 libcrypt1 libgmp10 libtomcrypt1 libtommath1 zlib1g; do
    dpkg-deb -x "$folder/debs/var/cache/apt/archives/${package}"_*.deb "$folder/files"
  done
  mkdir -p "$cache/ssh"
  cp -L "$folder/files/usr/sbin/dropbear" "$cache/ssh/"
  for library in c.so.6 m.so.6 crypt.so.1 gmp.so.10 tomcrypt.so.1 tommath.so.1 z.so.1; do cp -L "$folder"/files/{,usr/}lib/aarch64-linux-gnu/"lib$library" "$cache/ssh/" 2> /dev/null || true; done
  cp -L "$folder"/files/{,usr/}lib/ld-linux-aarch64.so.1 "$folder"/files/{,usr/}lib/aarch64-linux-gnu/ld-linux-aarch64.so.1 "$cache/ssh/" 2> /dev/null || true
  installer=$folder/image/usr/lib/debian-installer/images/12/arm64/text/debian-installer/arm64
  cp "$installer/linux" "$cache/"
  cp "$installer/initrd.gz" "$cache/"
fi

# What the machine starts with, instead of the installer.
mkdir -p "$folder/root/.ssh" "$folder/ssh"
ssh-keygen -q -t ed25519 -N '' -f "$folder/user"
cat > "$folder/init" << 'END'
#!/bin/sh
export PATH=/sbin:/bin:/usr/sbin:/usr/bin HOME=/root
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev; mkdir -p /dev/pts /tmp /root; mount -t devpts devpts /dev/pts
for module in virtio_mmio virtio_pci virtio_net; do modprobe $module; done
ip link set lo up
for card in /sys/class/net/e*; do ip addr add 10.0.2.15/24 dev "${card##*/}"; ip link set "${card##*/}" up; done
echo root::0:0:root:/root:/bin/sh > /etc/passwd; echo root:x:0: > /etc/group; echo /bin/sh > /etc/shells; chmod 755 / /root; chmod 700 /root/.ssh
LD_LIBRARY_PATH=/kw-ssh /kw-ssh/dropbear -R -F -E -s -p 22 &
echo kw-machine is up
while :; do sleep 1000; done
END
python3 - "$folder" "$cache" << 'END'
import gzip, os, sys

folder, cache = sys.argv[1:]
files = {"init": (0o100755, open(f"{folder}/init", "rb").read()), "kw-ssh": (0o40755, b""), "root": (0o40700, b""), "root/.ssh": (0o40700, b""),
         "root/.ssh/authorized_keys": (0o100600, open(f"{folder}/user.pub", "rb").read()), "etc/dropbear": (0o40755, b"")}
for name in os.listdir(f"{cache}/ssh"):
    files[f"kw-ssh/{name}"] = (0o100755, open(f"{cache}/ssh/{name}", "rb").read())
archive = b""
for number, (name, (mode, content)) in enumerate([*files.items(), ("TRAILER!!!", (0, b""))]):
    fields = [number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0]
    archive += b"070701" + b"".join(b"%08X" % one for one in fields) + name.encode() + b"\0"
    archive += b"\0" * (-len(archive) % 4) + content
    archive += b"\0" * (-len(archive) % 4)
with open(f"{folder}/initrd.gz", "wb") as out:
    out.write(open(f"{cache}/initrd.gz", "rb").read() + gzip.compress(archive, 1))
END
printf '%s\n' 'Host *' 'User root' "IdentityFile $folder/user" 'IdentitiesOnly yes' 'UserKnownHostsFile /dev/null' 'StrictHostKeyChecking no' 'ControlMaster no' > "$folder/config"
export KW_SSH_CONFIG=$folder/config DEVICE=ssh:127.0.0.1:$port

start_machine() {
  qemu-system-aarch64 -machine virt -cpu cortex-a76 -smp 2 -m 2048 -nographic -nodefaults -serial file:"$folder/console" -monitor unix:"$folder/monitor",server,nowait \
    -kernel "$cache/linux" -initrd "$folder/initrd.gz" -append 'console=ttyAMA0 quiet' -netdev user,id=net,hostfwd=tcp:127.0.0.1:"$port"-:22 -device virtio-net-pci,netdev=net,id=card,romfile= \
    > "$folder/qemu.log" 2>&1 & machine=$!
}
monitor() { python3 -c 'import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall((sys.argv[2] + "\n").encode()); s.settimeout(1); s.recv(4096)' "$folder/monitor" "$1" || true; }
wait_for_machine() {
  for ((i = 0; i < 600; ++i)); do
    ssh -F "$folder/config" -o ConnectTimeout=10 -p "$port" 127.0.0.1 true 2> "$folder/ssh.log" && return
    kill -0 "$machine" || { cat "$folder/qemu.log" >&2; exit 2; }
    sleep 1
  done
  tail "$folder/console" "$folder/ssh.log" >&2; exit 2
}
begin=$SECONDS
start_machine
wait_for_machine
echo "the machine answers after $((SECONDS - begin)) s"
"$kw" devices check "$DEVICE"  # builds the agent; what breaks from here on is to be repaired

"$kw" tasks --json | python3 -c '
import json, sys
tasks = json.load(sys.stdin)
for task in sorted(tasks, key=lambda task: task["bytes"] + task["flops"])[: int(sys.argv[1])]: print(task["name"])' "$kernels" > "$folder/names"
while read -r name; do
  "$kw" init "$name" --out "$folder/$name.cpp" > /dev/null
  printf '{"task": "%s", "file": "%s.cpp"}\n' "$name" "$name"
done < "$folder/names" > "$folder/batch.jsonl"
cd "$folder"
"$kw" eval --batch batch.jsonl --on "$DEVICE" --untimed --fresh --no-store --quiet --json > "$folder/verdicts" 2> "$folder/words" & batch=$!
done_cuts=0 done_kills=0
while kill -0 "$batch" 2>/dev/null && ((done_cuts < cuts || done_kills < kills)); do
  sleep "$every"
  if ((kills > 0 && done_kills < kills && done_cuts >= (done_kills + 1) * cuts / (kills + 1))); then
    kill -KILL "$machine"; wait "$machine" 2>/dev/null || true
    done_kills=$((done_kills + 1))
    start_machine
  elif ((done_cuts % 2 == 0)); then
    victim=$(pgrep -f "ssh .*-F $folder/config" | head -1 || true)
    [[ -z $victim ]] || { kill -KILL "$victim" 2>/dev/null && done_cuts=$((done_cuts + 1)); }
  else
    monitor 'set_link card off'; sleep 3; monitor 'set_link card on'
    done_cuts=$((done_cuts + 1))
  fi
done
status=0; wait "$batch" || status=$?
batch=
accepted=$(grep -c '"accepted":true' "$folder/verdicts" || true)
echo "$(wc -l < "$folder/names") kernels on an emulated machine, its link cut $done_cuts times and the machine killed $done_kills times: $(wc -l < "$folder/verdicts") verdicts, $accepted accepted (kw ended with $status), in $((SECONDS - begin)) s"
grep -v '"accepted":true' "$folder/verdicts" | cut -c1-300 || true
((status == 0)) || tail -3 "$folder/words"
((accepted == $(wc -l < "$folder/names")))
