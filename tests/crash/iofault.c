/* Fails or cuts short system calls on files whose path holds $IOFAULT_PATH, for LD_PRELOAD.
 *
 *   IOFAULT_SYNC=n       the n-th fsync or fdatasync fails with EIO; negative: from the n-th on, all of them
 *   IOFAULT_FULL=n       from the n-th write on, writes fail with ENOSPC
 *   IOFAULT_TORN=n:k     the n-th write writes k bytes, and the process dies
 *   IOFAULT_KILL_SYNC=n  the process dies at the n-th sync, before it
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long writes, syncs;

static long number(const char *name) {
    const char *value = getenv(name);
    return value ? atol(value) : 0;
}

static int concerns(int fd) {
    const char *part = getenv("IOFAULT_PATH");
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (!part || length < 0) return 0;
    path[length] = 0;
    return strstr(path, part) != NULL;
}

static int sync_with(const char *call, int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, call);
    if (concerns(fd)) {
        long n = atomic_fetch_add(&syncs, 1) + 1, fails = number("IOFAULT_SYNC");
        if (n == number("IOFAULT_KILL_SYNC")) raise(SIGKILL);
        if (n == fails || (fails < 0 && n >= -fails)) {
            errno = EIO;
            return -1;
        }
    }
    return real(fd);
}

int fsync(int fd) { return sync_with("fsync", fd); }
int fdatasync(int fd) { return sync_with("fdatasync", fd); }

ssize_t pwrite64(int fd, const void *from, size_t length, off64_t offset) {
    ssize_t (*real)(int, const void *, size_t, off64_t) =
        (ssize_t (*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
    if (!concerns(fd)) return real(fd, from, length, offset);
    long n = atomic_fetch_add(&writes, 1) + 1, full = number("IOFAULT_FULL"), at, keep;
    if (full && n >= full) {
        errno = ENOSPC;
        return -1;
    }
    const char *torn = getenv("IOFAULT_TORN");
    if (torn && sscanf(torn, "%ld:%ld", &at, &keep) == 2 && at == n) {
        real(fd, from, (size_t)keep < length ? (size_t)keep : length, offset);
        raise(SIGKILL);
    }
    return real(fd, from, length, offset);
}

ssize_t pwrite(int fd, const void *from, size_t length, off_t offset) {
    return pwrite64(fd, from, length, offset);
}
