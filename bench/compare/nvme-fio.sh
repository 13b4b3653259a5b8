#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In the guest: nvme-fio.sh ROUNDS SECONDS. Prints "@rate PROGRAM BYTES DEPTH READS".
# Programs take turns, and each round begins with another one, so that drift of
# the host is no result.
set -eu
rounds=$1
seconds=$2
device=0000:00:02.0
mkdir -p /fio
tar xf /fio.tar -C /fio

# Waits until the kernel's driver has the disk again.
disk() {
	tries=0
	while [ ! -b /dev/nvme0n1 ]; do
		tries=$((tries + 1))
		if [ $tries -gt 100 ]; then
			echo "nvme-fio.sh: no /dev/nvme0n1 after 10 s" >&2
			exit 1
		fi
		sleep 0.1
	done
}

# Field 8 of the terse output is reads per second. What could cost fio time is
# off: its random map, latency sums, and per-command buffer and file look-ups.
run_fio() {
	disk
	/fio/lib/ld-linux-aarch64.so.1 --library-path /fio/lib /fio/fio --name=x --filename=/dev/nvme0n1 --readonly --direct=1 \
		--rw=randread --norandommap --bs="$1" --iodepth="$2" --ioengine=io_uring \
		--fixedbufs --registerfiles --gtod_reduce=1 --time_based --runtime="$seconds" \
		--thread --output-format=terse --terse-version=3 "$3" >/tmp/fio.out
	reads=$(grep '^3;' /tmp/fio.out | cut -d';' -f8)
	[ -n "$reads" ] || { cat /tmp/fio.out >&2; exit 1; }
}

once() {
	case $1 in
	pagemix) reads=$(nvme_rate $device "$2" "$3" "$seconds") ;;
	fio) run_fio "$2" "$3" --hipri=0 ;;
	fio-polled) run_fio "$2" "$3" --hipri=1 ;;
	esac
	echo "@rate $1 $2 $3 $reads"
}

# Loaded without a parameter by the image; busybox reads none from the kernel's
# command line.
rmmod nvme
insmod /lib/modules/nvme.ko poll_queues=1
disk
if [ "$(cat /sys/block/nvme0n1/queue/io_poll)" != 1 ]; then
	echo "nvme-fio.sh: the kernel's driver has no polled queues" >&2
	exit 1
fi
order="pagemix fio fio-polled"
n=0
while [ $n -lt "$rounds" ]; do
	for depth in 1 32; do
		for bytes in 4096 512; do
			for program in $order; do once "$program" "$bytes" "$depth"; done
		done
	done
	# The first one goes last.
	order="${order#* } ${order%% *}"
	n=$((n + 1))
done
