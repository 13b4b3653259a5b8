#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# First process of the guest: loads modules, runs the commands, writes /out and
# how they ended to the output disk, powers off. Lines that start with
# "@pagemix-guest" are for the host.

/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox --install -s /bin
export PATH=/bin HOME=/root TERM=dumb
mkdir -p /dev/shm /dev/pts
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
mount -t devpts pts /dev/pts
# Not every kernel has these; programs that need one say so.
[ -d /sys/kernel/debug ] && mount -t debugfs debug /sys/kernel/debug
[ -d /sys/kernel/tracing ] && mount -t tracefs trace /sys/kernel/tracing
mkdir -p /out /run/guest
. /etc/guest/environment

# The output disk answers when the host gets to it: what it does to the guest's
# time is another thing in every boot. So its driver comes last.
disk_module=
finish() {
	cd / || poweroff -f
	# A command may have loaded it.
	if [ -n "$disk_module" ] && [ ! -d /sys/module/virtio_blk ]; then
		insmod "$disk_module" || echo "@pagemix-guest fail module $disk_module"
	fi
	tries=0
	# Devices behind an IOMMU whose driver is a module appear a little later.
	while [ ! -b /dev/vda ] && [ $tries -lt 50 ]; do
		tries=$((tries + 1))
		sleep 0.1
	done
	# The status is the archive's last member: if it is there, all of it is.
	if [ ! -b /dev/vda ] || ! tar cf /dev/vda out run/guest; then
		echo "@pagemix-guest fail output disk"
	fi
	sync
	poweroff -f
}

# Options of a module stand on the kernel's command line, NAME.OPTION=VALUE, as
# modprobe takes them.
read -r cmdline </proc/cmdline
while read -r module; do
	name=${module##*/}
	name=${name%.ko}
	if [ "$name" = virtio_blk ]; then
		disk_module=$module
		continue
	fi
	options=
	for word in $cmdline; do
		case $word in "$name".*=*) options="$options ${word#"$name".}" ;; esac
	done
	# shellcheck disable=SC2086 # each option is a word
	if ! insmod "$module" $options; then
		echo "@pagemix-guest fail module $module"
		poweroff -f
	fi
done </etc/guest/modules

n=0
while [ -e /etc/guest/command-$n ]; do
	echo "@pagemix-guest start $n"
	# A session of its own with the serial port as its terminal, so that a
	# Ctrl-C from the host reaches the program.
	setsid -c sh /etc/guest/command-$n <"/dev/$CONSOLE" >"/dev/$CONSOLE" 2>&1
	code=$(cat /run/guest/exit-$n)
	echo "@pagemix-guest exit $n $code"
	[ "$code" = 0 ] || break
	n=$((n + 1))
done
finish
