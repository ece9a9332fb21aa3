#!/bin/bash
# Becomes PID 1 of a lab host: boot.sh ROOT HOSTNAME, run by supervisor.py as the first process of new pid, mount, uts, ipc
# and cgroup namespaces.  ROOT is a mounted overlay.  What is mounted here lives in this mount namespace and ends with it.
set -eu
R=$1
[ $$ = 1 ] || { echo "boot.sh: not PID 1 of a new pid namespace: refusing (a reboot would be the machine's)"; exit 9; }
caps=$(sed -n 's/^CapBnd:\t/0x/p' /proc/self/status)
(( (caps >> 25 & 1) == 0 )) || { echo "boot.sh: CAP_SYS_TIME is there (the clock would be the machine's): refusing"; exit 9; }
mount --make-rprivate /                         # nothing below reaches the machine's own mounts
hostname "$2"

# /proc and /sys show the machine's kernel: what would change it is read-only.  Only cgroup v2 is mounted, its root being our
# own sub-cgroup: given v1 hierarchies too, systemd would make cgroups in the machine's.
mount -t proc -o nosuid,nodev,noexec proc "$R/proc"
for p in sys sysrq-trigger irq bus fs; do
    [ ! -e "$R/proc/$p" ] || { mount --bind "$R/proc/$p" "$R/proc/$p"; mount -o remount,bind,ro "$R/proc/$p"; }
done
for p in kmsg kcore keys; do [ ! -e "$R/proc/$p" ] || mount --bind /dev/null "$R/proc/$p"; done
mount -t sysfs -o nosuid,nodev,noexec,ro sysfs "$R/sys"
mount -t cgroup2 -o nosuid,nodev,noexec cgroup2 "$R/sys/fs/cgroup"

# /dev: a handful of nodes, own ptys, own /dev/shm; the console is the supervisor's pty.
mount -t tmpfs -o mode=755,nosuid,size=4m dev "$R/dev"
mkdir "$R/dev/pts" "$R/dev/shm"
for n in null zero full random urandom tty; do touch "$R/dev/$n"; mount --bind "/dev/$n" "$R/dev/$n"; done
touch "$R/dev/console"; mount --bind "$(readlink /proc/self/fd/0)" "$R/dev/console"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5,nosuid,noexec devpts "$R/dev/pts"
ln -s pts/ptmx "$R/dev/ptmx"; ln -s /proc/self/fd "$R/dev/fd"
for i in 0:stdin 1:stdout 2:stderr; do ln -s "fd/${i%:*}" "$R/dev/${i#*:}"; done
mount -t tmpfs -o mode=1777,nosuid,nodev,size=1g shm "$R/dev/shm"
mount -t tmpfs -o mode=755,nosuid,nodev,size=256m run "$R/run"
mount -t tmpfs -o mode=1777,nosuid,nodev,size=1g tmp "$R/tmp"

# A boot id of its own for each boot: else the journal sees one endless boot of the machine (`journalctl -b -1`).
cat /proc/sys/kernel/random/uuid >"$R/run/.boot_id"
mount --bind "$R/run/.boot_id" "$R/proc/sys/kernel/random/boot_id"
mount -o remount,bind,ro "$R/proc/sys/kernel/random/boot_id"
cd "$R"; pivot_root . .; umount -l .; cd /

# reboot(2) in a pid namespace only ends its PID 1, by SIGHUP (reboot) or SIGINT (poweroff): the supervisor reads which.
exec env -i container=specconsole-lab PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --show-status=1
