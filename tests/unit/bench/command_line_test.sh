#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The program as a user starts it, without hardware: exit codes, and messages
# that name file, line and allowed values.
# usage: command_line_test.sh PAGEMIX CONFIGS
set -u
pagemix=$1
configs=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# check CODE TEXT ARGUMENTS...: exit code and a text in the output
check() {
	code=$1
	text=$2
	shift 2
	output=$("$pagemix" "$@" 2>&1)
	got=$?
	if [ "$got" != "$code" ]; then
		echo "FAIL: pagemix $*: exit code $got, expected $code: $output"
		failures=$((failures + 1))
	fi
	case $output in
	*"$text"*) ;;
	*)
		echo "FAIL: pagemix $*: no \"$text\" in: $output"
		failures=$((failures + 1))
		;;
	esac
}

quick=$configs/profiles/quick.ini
mkdir "$work/profiles"
cp "$configs/mixes.ini" "$work"
printf '[run]\nmixes = order0\nbites = 10M\n' >"$work/profiles/key.ini"
printf '[run]\nmixes = order0\nbytes = 10Q\n' >"$work/profiles/size.ini"
printf '[run]\nmixes = order7\n' >"$work/profiles/mix.ini"
printf '[huge]\nsteps = 14:low\n' >"$work/huge.ini"

check 2 "usage: pagemix" # no command
check 0 "usage: pagemix" --help
check 0 "pagemix 0." --version
check 2 "allowed: doctor, list, pressure, run" start
for command in doctor list pressure run; do check 0 "pagemix $command " "$command" --help; done
check 0 "8-4-0-mid" list --mixes-file "$configs/mixes.ini"
check 0 "order_speed" list --mixes-file "$configs/mixes.ini"
check 0 "--mixes-file" list --help
check 2 "cannot read" list --mixes-file "$work/none.ini"
check 0 "Changes nothing" doctor --help
check 2 "unreadable address \"2.0\"" doctor --device 2.0
check 0 "--benchmark_filter" run --help
check 0 "default: 10M" run --help
check 2 "--config is missing" run
check 2 "cannot read $work/none.ini" run --config "$work/none.ini" --mixes-file "$configs/mixes.ini"
check 2 "key.ini:3: unknown key \"bites\" of [run]; allowed: mixes, layouts" run --config "$work/profiles/key.ini"
check 2 "size.ini:3: bytes: unreadable size \"10Q\"; allowed: multiples" run --config "$work/profiles/size.ini"
check 2 "mix.ini:2: mixes: unknown value \"order7\"; allowed: order0, order4" run --config "$work/profiles/mix.ini"
check 2 "huge.ini:2: order \"14\" of step \"14:low\"; allowed: 0.." run --config "$quick" --mixes-file "$work/huge.ini"
check 2 "unknown clock \"ns\"" run --config "$quick" --clock ns
check 2 "matches none of" run --config "$quick" --benchmark_filter=nothing
check 2 "no profile \"quikc\"; allowed: a file, or a name in configs/profiles" run --config quikc
check 2 "--benchmark_min_time is refused" run --config "$quick" --benchmark_min_time=1
check 0 "unmap_sgtable/mix:9-4-0/layout:buddy/bytes:10485760/state:cold" run --config "$quick" --benchmark_list_tests

# One family needs no hardware: a whole run, its files, and the refusal to
# replace them.
user="--config $quick --clock emulated-ns --benchmark_filter=timer:user --out $work/out"
# shellcheck disable=SC2086 # words on purpose
check 0 "median and p90 in emulated ns" run $user
# shellcheck disable=SC2086
check 2 "run.json exists; pass --force" run $user
# shellcheck disable=SC2086
check 0 "run.json" run $user --force --marker "$work/marker"
grep -q '^@pagemix begin sample_cost/timer:user 0$' "$work/marker" &&
	grep -q '^@pagemix end sample_cost/timer:user 1 5$' "$work/marker" || {
	echo "FAIL: markers: $(cat "$work/marker")"
	failures=$((failures + 1))
}
# shellcheck disable=SC2086
check 0 "run.json" run $user --force --benchmark_context=board=a7
grep -q '"board": "a7"' "$work/out/run.json" || {
	echo "FAIL: --benchmark_context is not in run.json"
	failures=$((failures + 1))
}
[ -s "$work/out/samples.npz" ] || {
	echo "FAIL: no samples.npz"
	failures=$((failures + 1))
}

# Ctrl-C: what was measured stays, marked incomplete.
"$pagemix" run --config "$quick" --clock emulated-ns --benchmark_filter=timer:user \
	--iterations 1048576 --blocks 1000 --out "$work/cut" >"$work/cut.log" 2>&1 &
sleep 1
kill -INT $!
wait $!
code=$?
if [ "$code" != 130 ] || ! grep -q '"complete": false' "$work/cut/run.json" ||
	! grep -q -- "--resume" "$work/cut.log"; then
	echo "FAIL: interrupted run ended with $code: $(cat "$work/cut.log")"
	failures=$((failures + 1))
fi

if [ "$failures" = 0 ]; then
	echo "all good"
else
	exit 1
fi
