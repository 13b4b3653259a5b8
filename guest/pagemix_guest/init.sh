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

finish() {
	# The status is the archive's last member: if it is there, all of it is.
	cd / && tar cf /dev/vda out run/guest || echo "@pagemix-guest fail output disk"
	sync
	poweroff -f
}

while read -r module; do
	if ! insmod "$module"; then
		echo "@pagemix-guest fail module $module"
		poweroff -f
	fi
done </etc/guest/modules

# Devices behind an IOMMU whose driver is a module appear a little later.
tries=0
while [ ! -b /dev/vda ]; do
	tries=$((tries + 1))
	[ $tries -le 50 ] || break
	sleep 0.1
done
if [ ! -b /dev/vda ]; then
	echo "@pagemix-guest fail no output disk"
	poweroff -f
fi

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
