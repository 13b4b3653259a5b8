#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Faults of `pagemix pressure` and of runs in a state of memory, on the real
# kernel: each gives a message that names the cause, and memory is as before.
# Runs inside a guest of 1 GiB as root.
# shellcheck disable=SC2317,SC2016 # functions run by way of check; inner scripts
set -u
profile=/etc/pagemix/profiles/pressure.ini
tracing=/sys/kernel/tracing
failures=0

# Free memory with what is on per-CPU lists.
free_mib() {
	echo 3 >/proc/sys/vm/drop_caches
	awk '/^MemFree:/ { kib = $2 } /^ *count:/ { kib += $2 * 4 } END { print int(kib / 1024) }' \
		/proc/meminfo /proc/zoneinfo
}

fail() {
	echo "FAILED $*"
	failures=$((failures + 1))
}

# check NAME CODE TEXT COMMAND...: the exit code, a part of the output, and free
# memory within 8 MiB of what it was.
check() {
	name=$1 code=$2 text=$3
	shift 3
	before=$(free_mib)
	"$@" >/tmp/output 2>&1
	got=$?
	after=$(free_mib)
	[ $got = "$code" ] || fail "$name: exit code $got, wanted $code"
	grep -qF -- "$text" /tmp/output || fail "$name: no '$text' in the output"
	[ $((before - after)) -le 8 ] || fail "$name: $before MiB free before, $after MiB after"
	if [ $failures != "${reported:-0}" ]; then
		sed 's/^/  | /' /tmp/output
		reported=$failures
	else
		echo "ok $name: $(grep -F -- "$text" /tmp/output | head -n 1)"
	fi
}

run() {
	rm -rf /tmp/run
	pagemix run --config "$profile" --clock instructions --out /tmp/run --blocks 1 \
		--mixes 8-4-0 --memory fresh --allocations 2 "$@"
}

pressure_killed() {
	pagemix pressure --state fragmented --seconds 600 >/tmp/held 2>&1 &
	holder=$!
	while ! grep -q 'held by process' /tmp/held && kill -0 "$holder" 2>/dev/null; do sleep 1; done
	kill -9 "$(sed -n 's/held by process //p' /tmp/held)"
	wait "$holder"
	code=$?
	cat /tmp/held
	return "$code"
}

in_group() {
	mkdir -p /tmp/cgroup /sys/fs/cgroup
	mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup || return 99
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control
	mkdir -p /sys/fs/cgroup/small
	echo 200M >/sys/fs/cgroup/small/memory.max
	sh -c 'echo $$ >/sys/fs/cgroup/small/cgroup.procs; exec "$@"' sh "$@"
}

without_tracefs() {
	umount "$tracing" || return 99
	"$@"
	code=$?
	mount -t tracefs trace "$tracing"
	return "$code"
}

traced_by_another() {
	mkdir "$tracing/instances/pagemix-1"
	"$@"
	code=$?
	rmdir "$tracing/instances/pagemix-1"
	return "$code"
}

left_behind() {
	mkdir "$tracing/instances/pagemix-999999"
	"$@"
	code=$?
	[ ! -e "$tracing/instances/pagemix-999999" ] || return 99
	return "$code"
}

check "a state and its end" 0 "undone: free" pagemix pressure --state fragmented --seconds 1
check "pinned stays though all memory is compacted" 0 "undone: free" \
	pagemix pressure --state pinned -- sh -c 'echo 1 >/proc/sys/vm/compact_memory;
		awk "/Movable|Unmovable|Reclaimable/ && /type/ { for (i = 11; i <= NF; i++) n += \$i }
		END { exit n > 200 }" /proc/pagetypeinfo'
check "heap exhausted" 1 "ENOMEM" run --mixes order8 --bytes 64M --allocations 64
check "killed helper" 1 "helper was ended by signal 9" pressure_killed
check "helper that memory runs out for" 1 "helper was ended by signal 9" \
	run --mixes 8-4-0 --memory fragmented --bytes 64M --allocations 64
check "no tracefs, asked for" 1 "tracefs is not mounted" without_tracefs run --trace on
check "no tracefs, not asked for" 0 "run.json" without_tracefs run --trace auto
grep -q 'tracefs is not mounted' /tmp/run/run.json || fail "no reason in run.json"
check "tracing is busy" 1 "process 1 traces" traced_by_another run --trace on
check "an instance of a dead process" 0 "run.json" left_behind run --trace on
check "limit of a control group" 1 "memory.max" in_group pagemix pressure --state fragmented --seconds 1
check "no such heap" 1 "there are: /dev/dma_heap/pagemix" run --heap /dev/dma_heap/system
check "cache on a tmpfs" 1 "on tmpfs" \
	pagemix pressure --state low --cache_source /tmp --seconds 1
check "a state that cannot be reached" 1 "state fresh: not reached" \
	pagemix pressure --state pinned -- pagemix pressure --state fresh --seconds 1
check "limit in time" 1 "the limit of 1 s" pagemix pressure --state aged --state_limit 1 --seconds 1

[ $failures = 0 ] && echo "all faults told"
exit $((failures != 0))
