#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The domain mode of the machine comes back: after a run that switched it, after
# Ctrl-C, and at the next start after kill -9. Runs in a guest with a free device.
device=0000:00:02.0
folder=/sys/bus/pci/devices/$device

fail() {
	echo "domain_restored: $*"
	exit 1
}

domain() { cat $folder/iommu_group/type; }

expect_domain() {
	[ "$(domain)" = "$1" ] || fail "$2: the domain is $(domain), expected $1"
}

expect_free() {
	[ ! -e $folder/driver ] || fail "$1: the device has a driver"
	[ ! -e /run/pagemix/$device.binding ] || fail "$1: a note is left"
}

# run ITERATIONS OPTION...
run() {
	iterations=$1
	shift
	exec pagemix run --config /etc/pagemix/profiles/operations.ini --clock instructions --force \
		--out /tmp/run --mixes order0 --families map_sgtable --iterations "$iterations" "$@"
}

# A run of many repetitions in the background, waited for until it measures.
start_long_run() {
	rm -f /tmp/marks
	run 1000000 --domain identity --marker /tmp/marks >/tmp/log 2>&1 &
	runner=$!
	tries=0
	until grep -q begin /tmp/marks 2>/dev/null; do
		tries=$((tries + 1))
		[ $tries -lt 600 ] || fail "the run did not begin: $(cat /tmp/log)"
		sleep 0.1
	done
	expect_domain identity "while it is measured"
}

(run 2 --domain "lazy identity strict") >/tmp/log 2>&1 || fail "a run: $(cat /tmp/log)"
expect_domain DMA "after a run"
expect_free "after a run"
grep -q 'domain:lazy' /tmp/run/run.json || fail "no domain:lazy in run.json"

start_long_run
kill -INT $runner
sleep 0.5 # two at once are one
kill -INT $runner # gives the case up
wait $runner
code=$?
[ $code = 130 ] || fail "Ctrl-C: exit code $code: $(cat /tmp/log)"
expect_domain DMA "after Ctrl-C"
expect_free "after Ctrl-C"

start_long_run
kill -KILL $runner
wait $runner
expect_domain identity "after kill -9, as the run left it"
[ -e /run/pagemix/$device.binding ] || fail "kill -9: no note"
(run 2) >/tmp/log 2>&1 || fail "the next start: $(cat /tmp/log)"
grep -q "$device: restored no driver and domain DMA" /tmp/log || fail "not said: $(cat /tmp/log)"
expect_domain DMA "after the next start"
expect_free "after the next start"

# What a device needs that is not switched: exit code 2, nothing touched.
(run 2 --domain fast) >/tmp/log 2>&1
[ $? = 2 ] || fail "a wrong mode: exit code"
grep -q 'domain: unknown value "fast"; allowed: found, strict, lazy, identity' /tmp/log ||
	fail "a wrong mode: $(cat /tmp/log)"
echo "domain_restored: passed"
