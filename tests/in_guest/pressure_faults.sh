#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Faults of `pagemix pressure` and of runs in a state of memory, on the real
# kernel: each gives a message that names the cause, and memory is as before.
# Runs inside a guest of 1 GiB as root.
# shellcheck disable=SC2317,SC2016 # functions run by way of check; inner scripts
set -u
profile=/etc/pagemix/profiles/pressure.ini
tracing=/sys/kernel/tracing
proactiveness=/proc/sys/vm/compaction_proactiveness
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

# again MIX MEMORY SETS OPTION...: in the folder of an earlier run
again() {
	mix=$1 memory=$2 sets=$3
	shift 3
	pagemix run --config "$profile" --clock instructions --out /tmp/run --mixes "$mix" \
		--memory "$memory" --blocks "$sets" "$@"
}

# run OPTION...: one short series in fresh memory
run() {
	rm -rf /tmp/run
	again 8-4-0 fresh 1 --allocations 2 "$@"
}

# exhaust MIX MEMORY: more than the machine has
exhaust() {
	rm -rf /tmp/run
	again "$1" "$2" 1 --bytes 64M --allocations 64
}

# Ended after three of 20 sets, with the series under way lost.
killed() {
	rm -rf /tmp/run
	# Not by again: it would be its shell that is killed.
	pagemix run --config "$profile" --clock instructions --out /tmp/run --mixes 8-4-0 \
		--memory fresh --blocks 20 --allocations 2 &
	runner=$!
	lines=0
	while [ "${lines:-0}" -lt 4 ] && kill -0 "$runner" 2>/dev/null; do
		sleep 0.01
		lines=$(sed -n '$=' /tmp/run/journal.jsonl 2>/dev/null)
	done
	kill -9 "$runner"
	wait "$runner"
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

# The process that changed a setting, not the one that holds memory.
changer_killed() {
	pagemix pressure --state fragmented --seconds 600 >/tmp/held 2>&1 &
	holder=$!
	while ! grep -q 'held by process' /tmp/held && kill -0 "$holder" 2>/dev/null; do sleep 1; done
	kill -9 "$holder"
	wait "$holder"
	# The helper ends with it, and takes a while to give its memory back.
	helper=$(sed -n 's/held by process //p' /tmp/held)
	while [ -d "/proc/$helper" ] && ! grep -q '^State:.Z' "/proc/$helper/status"; do
		sleep 0.1
	done
	cat "$proactiveness"
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
	umount /sys/kernel/debug/tracing 2>/dev/null # mounted by who looked into it
	umount /sys/kernel/debug || return 99
	"$@"
	code=$?
	mount -t debugfs debug /sys/kernel/debug
	mount -t tracefs trace "$tracing"
	return "$code"
}

traced_by_another() {
	mkdir "$tracing/instances/pagemix-1-events"
	"$@"
	code=$?
	rmdir "$tracing/instances/pagemix-1-events"
	return "$code"
}

left_behind() {
	mkdir "$tracing/instances/pagemix-999999-events"
	"$@"
	code=$?
	[ ! -e "$tracing/instances/pagemix-999999-events" ] || return 99
	return "$code"
}

check "a state and its end" 0 "undone: free" pagemix pressure --state fragmented --seconds 1
check "pinned stays though all memory is compacted" 0 "undone: free" \
	pagemix pressure --state pinned -- sh -c 'echo 1 >/proc/sys/vm/compact_memory;
		awk "/Movable|Unmovable|Reclaimable/ && /type/ { for (i = 11; i <= NF; i++) n += \$i }
		END { exit n > 200 }" /proc/pagetypeinfo'
check "heap exhausted" 1 "ENOMEM" exhaust order8 fresh
check "killed helper" 1 "helper was ended by signal 9" pressure_killed
usual=$(cat "$proactiveness")
check "a setting that a kill leaves" 0 "0" changer_killed
check "the next start sets it back" 0 "restored $proactiveness to $usual, left" \
	pagemix pressure --state fresh --seconds 1
[ "$(cat "$proactiveness")" = "$usual" ] || fail "$proactiveness is $(cat "$proactiveness")"
check "helper that memory runs out for" 1 "helper was ended by signal 9" \
	exhaust 8-4-0 fragmented
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

# A run that was killed: its journal is kept, refused where it does not belong,
# and gone on with; what was measured before is not measured again.
check "killed run" 137 "" killed
[ ! -e /tmp/run/run.json ] || fail "killed run: run.json is there"
check "journal that is in the way" 2 "pass --resume" again 8-4-0 fresh 20 --allocations 2
check "resume with another setting" 2 "config/run.blocks: \"20\" then, \"21\" now" \
	again 8-4-0 fresh 21 --allocations 2 --resume
check "resume" 0 "measurements taken over" \
	again 8-4-0 fresh 20 --allocations 2 --resume
[ "$(grep -c '"name": "alloc_series' /tmp/run/run.json)" = 40 ] || fail "resume: not 40 entries"
[ ! -e /tmp/run/journal.jsonl ] || fail "resume: the journal is still there"
check "resume of nothing" 2 "no journal" \
	again 8-4-0 fresh 20 --allocations 2 --resume --force

[ $failures = 0 ] && echo "all faults told"
exit $((failures != 0))
