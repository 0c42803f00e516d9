#!/usr/bin/env bash
# Durability against the real system: system calls that fail (LD_PRELOAD), and power cuts (a forced shutdown of a file
# system in a loop file, which forgets what was not synced). Each uses crates/verify/tests/kills.rs, with TPC-C.
#
#   run.sh KILLS_TEST_BINARY [POWER_CUTS]
#
# What a machine cannot do (no root, no loop devices, no compiler) is skipped, and says so.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
test=$(realpath "$1")
cuts=${2:-3}
work=$(mktemp -d)
mnt=$work/mnt
image=$work/disk
trap 'umount -l "$mnt" 2> /dev/null || true; rm -rf "$work"' EXIT

name=a_killed_process_loses_nothing_that_it_acknowledged
run() { "$test" "$name" --exact --nocapture > "$work/out" 2>&1; }
show() { tail -25 "$work/out" >&2; }

if command -v cc > /dev/null; then
    cc -O2 -Wall -shared -fPIC -o "$work/iofault.so" "$here/iofault.c" -ldl
    export SCALEDB_KILL_PRELOAD=$work/iofault.so IOFAULT_PATH=/log- SCALEDB_KILLS=2
    export SCALEDB_KILL_DIRECTORY=$work
    for fault in IOFAULT_SYNC=40 IOFAULT_SYNC=-25 IOFAULT_FULL=60 IOFAULT_TORN=50:1000 IOFAULT_KILL_SYNC=70; do
        if ! env "$fault" "$test" "$name" --exact --nocapture > "$work/out" 2>&1; then
            echo "crash: $fault: something acknowledged was lost" >&2
            show
            exit 1
        fi
        echo "crash: $fault: nothing lost"
    done
    unset SCALEDB_KILL_PRELOAD IOFAULT_PATH
else
    echo "crash: SKIPPED failing system calls: there is no C compiler"
fi

for fs in ext4 xfs; do
    if [ "$(id -u)" != 0 ] || ! command -v "mkfs.$fs" > /dev/null || ! command -v xfs_io > /dev/null; then
        echo "crash: SKIPPED power cuts on $fs: they need root, mkfs.$fs and xfs_io (packages e2fsprogs, xfsprogs)"
        continue
    fi
    rm -f "$image"
    truncate -s 2G "$image"
    case $fs in
    ext4) mkfs.ext4 -q -F "$image" ;;
    xfs) mkfs.xfs -q -f "$image" ;;
    esac
    mkdir -p "$mnt"
    if ! mount -o loop "$image" "$mnt" 2> /dev/null; then
        echo "crash: SKIPPED power cuts on $fs: loop files cannot be mounted here"
        continue
    fi
    cat > "$work/power" <<SCRIPT
#!/bin/sh
case \$1 in
cut) exec xfs_io -x -c shutdown "$mnt" ;;
restore) umount "$mnt" && exec mount -o loop "$image" "$mnt" ;;
esac
SCRIPT
    chmod +x "$work/power"
    export SCALEDB_POWER=$work/power SCALEDB_KILL_DIRECTORY=$mnt
    # what went past the page cache a forced shutdown does not lose, synced or not; with the cache, the syncs count
    for io in direct cached; do
        if ! SCALEDB_IO=$io SCALEDB_KILLS=$cuts run; then
            echo "crash: $fs: something acknowledged was lost in a power cut ($io writes)" >&2
            show
            exit 1
        fi
        echo "crash: $fs: $cuts power cuts with $io writes, nothing lost"
        rm -rf "${mnt:?}"/*
    done
    # the control: without syncs, a power cut must be noticed
    if SCALEDB_IO=cached SCALEDB_NO_SYNC=1 SCALEDB_KILLS=3 run; then
        echo "crash: $fs: three power cuts without a single sync lost nothing: this proves nothing" >&2
        show
        exit 1
    fi
    echo "crash: $fs: without syncs, a power cut is noticed"
    umount "$mnt"
    unset SCALEDB_POWER
done
