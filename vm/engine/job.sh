#!/usr/bin/bash
# PID 1 of the machine: a job in a container, as a runner starts it, with version 2 of control groups. Runs
# /with-engine /steps.sh there and prints what it prints on the second serial port.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /var
mount -t cgroup2 cgroup2 /sys/fs/cgroup
for module in /modules/{llc,stp,bridge,veth,overlay}.ko*; do insmod "$module"; done
ip link set lo up
# What systemd does on a machine, and a runner's engine for a container.
read -ra controllers </sys/fs/cgroup/cgroup.controllers
echo "${controllers[@]/#/+}" >/sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/job
# The root of this machine cannot be replaced, since it is the kernel's first.
export DOCKER_RAMDISK=1 KCUP_ENGINE_DIR=/var/engine
bash -c 'echo $$ >/sys/fs/cgroup/job/cgroup.procs; exec unshare --cgroup --mount bash -c "
  umount /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup
  bash /with-engine bash /steps.sh"' >/dev/ttyS1 2>&1
echo "status $?" >/dev/ttyS1
tail -n 30 /var/engine/log
echo o >/proc/sysrq-trigger
sleep 60
