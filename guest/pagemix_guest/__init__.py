# SPDX-License-Identifier: Apache-2.0
"""Boots the pagemix program in QEMU and brings its results back.

kernel   fetches a Debian kernel through a private apt state (sources, apt)
build    builds the program and the module
image    makes the initramfs (modules, elf, cpio)
counters reads configs/counters.ini
machine  reads configs/machines/*.ini
qemu     command line and process
console  what the guest prints, and which of it is a failure
events   counts in QEMU's trace, by phase; merge joins them with run.json
run      one boot, from the command to the result folder
cli      the command line
"""
