#!/usr/bin/env bash
# Judges kernels on a whole emulated machine behind ssh while its link is cut and the machine itself is killed, and counts verdicts.
#
#   bench/device_machine.bash KW [KERNELS] [CUTS] [KILLS] [EVERY_S]
#
# KW: the program. A batch of plain kernels, of KERNELS tasks (20) of mobilekernelbench with lengths of at most 6, the cheapest, is judged with
# `kw eval --batch --on ssh:...` on an arm64 machine in qemu-system-aarch64 (Debian: qemu-system-arm, debootstrap, debian-installer-12-netboot-arm64), whose processor is
# emulated too. The link is cut CUTS times (50) in all, by killing the ssh client or unplugging the machine's network for 3 s in turn, and KILLS times (5) the machine is killed
# and started again. Cuts and kills are spread over the verdicts: each comes within EVERY_S seconds (6) of the one before, but not before its share of the verdicts is
# there, so that a slow computer gets as many for each kernel as a quick one. Prints how many verdicts came, and exits 1 where one is lost or not accepted, or where fewer
# cuts and kills landed than were asked for.
#
# The machine is Debian's installer kernel with a first file system of ours: busybox, an ssh server, four modules. It answers after some seconds; no disk, nothing stays. It has
# one core: two of them, each waiting for the other through the emulator, took four times the processor time here.
set -euo pipefail
kw=$(realpath "$1"); kernels=${2:-20}; cuts=${3:-50}; kills=${4:-5}; every=${5:-6}
for program in qemu-system-aarch64 debootstrap; do
  command -v "$program" > /dev/null || { echo "$program is missing: apt-get install qemu-system-arm debootstrap" >&2; exit 2; }
done
source=$(realpath "$(dirname "$0")/..")
folder=$(mktemp -d); port=$((20000 + $$ % 20000)); machine='' batch=''
trap '[[ -z $batch ]] || kill "$batch" 2>/dev/null || true; [[ -z $machine ]] || { kill -KILL "$machine"; wait "$machine"; } 2>/dev/null || true; rm -rf "$folder"' EXIT
cache=${XDG_CACHE_HOME:-$HOME/.cache}/kernelwright/device-machine
mkdir -p "$cache"

if [[ ! -e $cache/initrd.gz || ! -e $cache/files/bin/busybox ]]; then
  (cd "$folder" && apt-get download -qq debian-installer-12-netboot-arm64 && dpkg-deb -x debian-installer-12-netboot-arm64_*.deb image && rm ./*.deb)
  debootstrap --arch=arm64 --variant=minbase --download-only --include=dropbear-bin,busybox-static bookworm "$folder/debs" > "$folder/debootstrap.log" || { tail "$folder/debootstrap.log" >&2; exit 2; }
  for package in busybox-static dropbear-bin libc6 libcrypt1 libgmp10 libtomcrypt1 libtommath1 zlib1g; do
    dpkg-deb -x "$folder/debs/var/cache/apt/archives/${package}"_*.deb "$folder/files"
  done
  installer=$folder/image/usr/lib/debian-installer/images/12/arm64/text/debian-installer/arm64
  cp "$installer/linux" "$cache/"
  rm -rf "$cache/files"; mkdir -p "$cache/files/bin" "$cache/files/lib"
  cp -L "$folder/files/bin/busybox" "$folder/files/usr/sbin/dropbear" "$cache/files/bin/"
  for library in ld-linux-aarch64.so.1 libc.so.6 libm.so.6 libcrypt.so.1 libgmp.so.10 libtomcrypt.so.1 libtommath.so.1 libz.so.1; do
    cp -L "$(find "$folder/files" -name "$library" | head -1)" "$cache/files/lib/"
  done
  cp "$installer/initrd.gz" "$cache/"
fi

# What the machine starts with.
ssh-keygen -q -t ed25519 -N '' -f "$folder/user"
cat > "$folder/init" << 'END'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/root
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev; mkdir -p /dev/pts; mount -t devpts devpts /dev/pts
for module in virtio_mmio failover net_failover virtio_net; do insmod /modules/$module.ko; done
ip link set lo up
for card in /sys/class/net/e*; do ip addr add 10.0.2.15/24 dev "${card##*/}"; ip link set "${card##*/}" up; done
dropbear -R -F -E -s -p 22 &
echo kw-machine is up
while :; do sleep 1000; done
END
python3 - "$folder" "$cache" << 'END'
import gzip, os, sys

folder, cache = sys.argv[1:]
content = lambda path: open(path, "rb").read()
MODULES = ["virtio_mmio.ko", "failover.ko", "net_failover.ko", "virtio_net.ko"]


def entries(archive):
    at = 0
    while (at := archive.find(b"070701", at)) >= 0:
        size, name_size = (int(archive[at + 6 + 8 * field : at + 14 + 8 * field], 16) for field in (6, 11))
        name, data = archive[at + 110 : at + 109 + name_size].decode(), (at + 110 + name_size + 3) // 4 * 4
        yield name, archive[data : data + size]
        at = data + size


files = {"init": (0o100755, content(f"{folder}/init"))}
files |= {name: (0o40755, b"") for name in "bin dev etc etc/dropbear lib modules proc sys tmp".split()}
files |= {name: (0o40700, b"") for name in ("root", "root/.ssh")}
files |= {"etc/passwd": (0o100644, b"root::0:0:root:/root:/bin/sh\n"), "etc/group": (0o100644, b"root:x:0:\n"), "etc/shells": (0o100644, b"/bin/sh\n")}
files["root/.ssh/authorized_keys"] = (0o100600, content(f"{folder}/user.pub"))
for part in ("bin", "lib"):
    files |= {f"{part}/{name}": (0o100755, content(f"{cache}/files/{part}/{name}")) for name in os.listdir(f"{cache}/files/{part}")}
for name, module in entries(gzip.decompress(content(f"{cache}/initrd.gz"))):
    if os.path.basename(name) in MODULES:
        files["modules/" + os.path.basename(name)] = (0o100644, module)
archive = b""
for number, (name, (mode, data)) in enumerate([*files.items(), ("TRAILER!!!", (0, b""))]):
    fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
    archive += b"070701" + b"".join(b"%08X" % one for one in fields) + name.encode() + b"\0"
    archive += b"\0" * (-len(archive) % 4) + data
    archive += b"\0" * (-len(archive) % 4)
with open(f"{folder}/initrd", "wb") as out:
    out.write(archive)
END
printf '%s\n' 'Host *' 'User root' "IdentityFile $folder/user" 'IdentitiesOnly yes' 'UserKnownHostsFile /dev/null' 'StrictHostKeyChecking no' 'ControlMaster no' > "$folder/config"
export KW_SSH_CONFIG=$folder/config DEVICE=ssh:127.0.0.1:$port

start_machine() {
  qemu-system-aarch64 -machine virt -cpu cortex-a76 -smp 1 -m 768 -nographic -nodefaults -serial file:"$folder/console" -monitor unix:"$folder/monitor",server,nowait \
    -kernel "$cache/linux" -initrd "$folder/initrd" -append 'console=ttyAMA0 quiet' -netdev user,id=net,hostfwd=tcp:127.0.0.1:"$port"-:22 -device virtio-net-device,netdev=net,id=card \
    > "$folder/qemu.log" 2>&1 & machine=$!
}
# Whether the emulator took a command, which it did only when the next prompt comes: it drops what it has not read of a connection that ends.
monitor() {
  python3 - "$folder/monitor" "$1" << 'END'
import socket, sys

monitor = socket.socket(socket.AF_UNIX)
monitor.connect(sys.argv[1])
monitor.settimeout(60)
said = b""
for prompts, command in (1, sys.argv[2].encode() + b"\n"), (2, b""):
    while said.count(b"\n(qemu)") < prompts and (more := monitor.recv(4096)):
        said += more
    if said.count(b"\n(qemu)") < prompts:
        sys.exit(f"{sys.argv[2]}: the emulator ended the connection before its prompt")
    monitor.sendall(command)
END
}
wait_for_machine() {
  for ((i = 0; i < 600; ++i)); do
    ssh -F "$folder/config" -o ConnectTimeout=10 -p "$port" 127.0.0.1 true 2> "$folder/ssh.log" && return
    kill -0 "$machine" || { cat "$folder/qemu.log" >&2; exit 2; }
    sleep 1
  done
  tail -n 20 "$folder/console" "$folder/ssh.log" >&2; exit 2
}
begin=$SECONDS
start_machine
wait_for_machine
echo "the machine answers after $((SECONDS - begin)) s"
"$kw" devices check "$DEVICE"  # builds the agent; what breaks from here on is to be repaired

# The tasks, with short lengths: what travels and is computed is little, so that most of the time is the link's.
python3 - "$source/suites/mobilekernelbench.toml" "$folder" "$kw" "$kernels" << 'END'
import json, re, subprocess, sys

suite, folder, kw, kernels = sys.argv[1:]
short = re.sub(r"\b([A-Z]\w*)=(\d+)\b", lambda found: f"{found[1]}={min(int(found[2]), 6)}", open(suite).read())
head, *tasks = short.split("[[task]]")
able = []
for number, task in enumerate(tasks):  # one a file: some need longer lengths
    file = f"{folder}/{number}.toml"
    open(file, "w").write(f'suite = "short{number}"\nabout = "one task"\n\n[[task]]' + task)
    listed = subprocess.run([kw, "tasks", file, "--json"], capture_output=True, text=True)
    if listed.returncode == 0:
        one = json.loads(listed.stdout)[0]
        able.append((one["bytes"] + one["flops"], f"{number}.toml:{one['name']}"))
with open(f"{folder}/batch.jsonl", "w") as batch:
    for number, (_, name) in enumerate(sorted(able)[: int(kernels)]):
        subprocess.run([kw, "init", name, "--out", f"{number}.cpp"], check=True, cwd=folder, capture_output=True)
        print(json.dumps({"task": name, "file": f"{number}.cpp"}), file=batch)
END
cd "$folder"
kernels=$(wc -l < batch.jsonl)
"$kw" eval --batch batch.jsonl --on "$DEVICE" --untimed --fresh --no-store --quiet --json --events "$folder/events" > "$folder/verdicts" 2> "$folder/words" & batch=$!
# A device that kw has not yet reached is none that comes back.
until grep -qs started "$folder/events"; do kill -0 "$batch" || break; sleep 0.2; done
done_cuts=0 done_kills=0
# Whether one more of $2 events is due after $1: the first before the first verdict, the last before the last two.
is_due() { (($1 < $2 && $1 * (kernels - 2) <= $2 * $(wc -l < "$folder/verdicts"))); }
while kill -0 "$batch" 2>/dev/null && ((done_cuts < cuts || done_kills < kills)); do
  sleep "$((RANDOM % every)).$((RANDOM % 10))$((RANDOM % 10))"
  if is_due "$done_kills" "$kills"; then
    kill -KILL "$machine"; wait "$machine" 2>/dev/null || true
    done_kills=$((done_kills + 1))
    start_machine
  elif ! is_due "$done_cuts" "$cuts"; then
    continue
  elif ((done_cuts % 2 == 0)); then
    victim=$(pgrep -f "ssh .*-F $folder/config" | head -1 || true)
    [[ -z $victim ]] || { kill -KILL "$victim" 2>/dev/null && done_cuts=$((done_cuts + 1)); }
  elif monitor 'set_link card off'; then
    sleep 3
    for ((i = 0; i < 20; ++i)); do monitor 'set_link card on' && break; sleep 1; done
    done_cuts=$((done_cuts + 1))
  fi
done
status=0; wait "$batch" || status=$?
batch=
accepted=$(grep -c '"accepted":true' "$folder/verdicts" || true)
echo "$kernels kernels on an emulated machine, its link cut $done_cuts times and the machine killed $done_kills times: $(wc -l < "$folder/verdicts") verdicts, $accepted accepted (kw ended with $status), in $((SECONDS - begin)) s"
grep -v '"accepted":true' "$folder/verdicts" | cut -c1-300 || true
((status == 0)) || tail -n 3 "$folder/words"
((accepted == kernels && done_cuts == cuts && done_kills == kills))
