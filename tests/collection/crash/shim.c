/* A preloaded library that counts the calls by which a process changes files below a folder, and
 * kills it at one of them, kills it half-way through a write, lets calls fail, or logs them.
 *
 * Nothing happens before `crash_arm`. Calls are made by their system call numbers, so that none is
 * seen twice. What goes past these functions is not seen: writes through a memory map, and those
 * of `fwrite` and its kind, which the C library makes within itself.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#if __SIZEOF_LONG__ != 8
#error "offsets are passed to system calls in one register of 64 bits"
#endif

/* As harness.py has them. */
enum mode { COUNT, KILL, HALVE, FAIL, FAIL_FROM, NO_LOCKS };

/* A full disk still lets files be removed; only data can be written by half. */
enum kind { ENTRY, REMOVAL, DATA };
enum verdict { PROCEED, HALF, REFUSED };

static char below[PATH_MAX];
static enum mode mode;
static long at_call;
static int given_errno;
static int log_file = -1;
static long n_calls;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

/* Starts counting the calls that concern a folder and what is below it. `log` may be "". */
int crash_arm(const char *folder, int how, long at, int error, const char *log)
{
    mode = how;
    at_call = at;
    given_errno = error;
    n_calls = 0;
    if (*log)
        log_file = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                           0600);
    snprintf(below, sizeof below, "%s", folder);
    return *log && log_file < 0 ? -1 : 0;
}

/* Stops counting, and tells how many calls there were. */
long crash_disarm(void)
{
    below[0] = '\0';
    return n_calls;
}

static void die(void)
{
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

/* What is concerned? */

static int is_below(const char *path)
{
    size_t n = strlen(below);
    return strncmp(path, below, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static int path_of(int fd, char *path)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, PATH_MAX - 1);
    path[n < 0 ? 0 : n] = '\0';
    return n >= 0;
}

static int file_concerned(int fd, char *path)
{
    return below[0] && path_of(fd, path) && is_below(path);
}

static int name_concerned(int folder, const char *name, char *path)
{
    if (!below[0] || name == NULL)
        return 0;
    path[0] = '\0';
    if (name[0] != '/') {
        if (folder == AT_FDCWD ? getcwd(path, PATH_MAX) == NULL : !path_of(folder, path))
            return 0;
    }
    size_t n = strlen(path);
    snprintf(path + n, PATH_MAX - n, n ? "/%s" : "%s", name);
    return is_below(path);
}

/* What is to be done with a call, and what is told of it afterwards. */

static enum verdict count(enum kind kind)
{
    pthread_mutex_lock(&turn);
    n_calls++;
    int is_it = n_calls == at_call;
    if (is_it && (mode == KILL || (mode == HALVE && kind != DATA)))
        die();
    if (is_it && mode == HALVE)
        return HALF;
    if ((mode == FAIL && is_it) || (mode == FAIL_FROM && n_calls >= at_call)) {
        if (kind != REMOVAL || given_errno != ENOSPC) {
            errno = given_errno;
            return REFUSED;
        }
    }
    return PROCEED;
}

#define ALLOWED(kind, call) (count(kind) == PROCEED ? (call) : -1)

static void log_data(int fd, off_t at, size_t size)
{
    /* By another descriptor, because the first may be open for writing only. */
    char link[64], *data = malloc(size + 1);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int again = syscall(SYS_openat, AT_FDCWD, link, O_RDONLY | O_CLOEXEC);
    if (data == NULL || pread(again, data, size, at) != (ssize_t)size
        || syscall(SYS_write, log_file, data, size) != (long)size)
        die();
    close(again);
    free(data);
}

/* Every counted call ends here: a line for the log, behind it what was written. `number` is an
 * offset for data, a size for truncate and fallocate, flags for open. */
static long done(const char *name, long result, int fd, long number, const char *path,
                 const char *to)
{
    int saved = errno;
    if (log_file >= 0) {
        struct stat it = {0};
        int is_data = strcmp(name, "write") == 0;
        long size = is_data && result > 0 ? result : 0;
        if (fd >= 0)
            fstat(fd, &it);
        else
            lstat(*to ? to : path, &it);
        if (is_data && number < 0)
            number = lseek(fd, 0, SEEK_CUR) - size;
        dprintf(log_file, "%s\t%d\t%lu\t%ld\t%ld\t%s\t%s\n", name, result < 0 ? -1 : 0,
                (unsigned long)it.st_ino, number, size, path, to);
        if (size)
            log_data(fd, number, size);
    }
    pthread_mutex_unlock(&turn);
    errno = saved;
    return result;
}

/* Files are opened. */

static int makes(int flags)
{
    return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

int openat(int folder, const char *name, int flags, ...)
{
    char path[PATH_MAX];
    mode_t permissions = 0;
    if (makes(flags)) {
        va_list rest;
        va_start(rest, flags);
        permissions = va_arg(rest, mode_t);
        va_end(rest);
    }
    if (!(makes(flags) || flags & O_TRUNC) || !name_concerned(folder, name, path))
        return syscall(SYS_openat, folder, name, flags, permissions);
    long fd = ALLOWED(ENTRY, syscall(SYS_openat, folder, name, flags, permissions));
    return done("open", fd, fd, flags, path, "");
}

int open(const char *name, int flags, ...)
{
    mode_t permissions = 0;
    if (makes(flags)) {
        va_list rest;
        va_start(rest, flags);
        permissions = va_arg(rest, mode_t);
        va_end(rest);
    }
    return openat(AT_FDCWD, name, flags, permissions);
}

int creat(const char *name, mode_t permissions)
{
    return openat(AT_FDCWD, name, O_WRONLY | O_CREAT | O_TRUNC, permissions);
}

/* Data are written; an offset below 0 is where the file stands. */

static ssize_t put(int fd, const struct iovec *parts, int n, off_t at, int flags)
{
    if (flags)
        return syscall(SYS_pwritev2, fd, parts, n, at, 0, flags);
    if (n == 1 && at < 0)
        return syscall(SYS_write, fd, parts->iov_base, parts->iov_len);
    if (n == 1)
        return syscall(SYS_pwrite64, fd, parts->iov_base, parts->iov_len, at);
    if (at < 0)
        return syscall(SYS_writev, fd, parts, n);
    return syscall(SYS_pwritev, fd, parts, n, at, 0);
}

static void put_half(int fd, const struct iovec *parts, int n, off_t at)
{
    size_t left = 0;
    for (int i = 0; i < n; i++)
        left += parts[i].iov_len;
    left /= 2;
    for (int i = 0; i < n && left; i++) {
        struct iovec part = parts[i];
        if (part.iov_len > left)
            part.iov_len = left;
        if (put(fd, &part, 1, at, 0) != (ssize_t)part.iov_len)
            break;
        left -= part.iov_len;
        at += at < 0 ? 0 : part.iov_len;
    }
    die();
}

static ssize_t written(int fd, const struct iovec *parts, int n, off_t at, int flags)
{
    char path[PATH_MAX];
    if (!file_concerned(fd, path))
        return put(fd, parts, n, at, flags);
    enum verdict verdict = count(DATA);
    if (verdict == HALF)
        put_half(fd, parts, n, at);
    return done("write", verdict == PROCEED ? put(fd, parts, n, at, flags) : -1, fd, at, path, "");
}

ssize_t write(int fd, const void *data, size_t size)
{
    struct iovec part = {(void *)data, size};
    return written(fd, &part, 1, -1, 0);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
    struct iovec part = {(void *)data, size};
    return written(fd, &part, 1, at, 0);
}

ssize_t writev(int fd, const struct iovec *parts, int n)
{
    return written(fd, parts, n, -1, 0);
}

ssize_t pwritev(int fd, const struct iovec *parts, int n, off_t at)
{
    return written(fd, parts, n, at, 0);
}

ssize_t pwritev2(int fd, const struct iovec *parts, int n, off_t at, int flags)
{
    return written(fd, parts, n, at, flags);
}

ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t size,
                        unsigned flags)
{
    char path[PATH_MAX];
    if (!file_concerned(to, path))
        return syscall(SYS_copy_file_range, from, from_at, to, to_at, size, flags);
    off_t at = to_at ? *to_at : -1;
    enum verdict verdict = count(DATA);
    long result = -1;
    if (verdict == HALF)
        size /= 2;
    if (verdict != REFUSED)
        result = syscall(SYS_copy_file_range, from, from_at, to, to_at, size, flags);
    if (verdict == HALF)
        die();
    return done("write", result, to, at, path, "");
}

ssize_t sendfile(int to, int from, off_t *from_at, size_t size)
{
    char path[PATH_MAX];
    if (!file_concerned(to, path))
        return syscall(SYS_sendfile, to, from, from_at, size);
    enum verdict verdict = count(DATA);
    long result = -1;
    if (verdict == HALF)
        size /= 2;
    if (verdict != REFUSED)
        result = syscall(SYS_sendfile, to, from, from_at, size);
    if (verdict == HALF)
        die();
    return done("write", result, to, -1, path, "");
}

/* Files change their size. */

int ftruncate(int fd, off_t size)
{
    char path[PATH_MAX];
    if (!file_concerned(fd, path))
        return syscall(SYS_ftruncate, fd, size);
    long result = ALLOWED(ENTRY, syscall(SYS_ftruncate, fd, size));
    return done("truncate", result, fd, size, path, "");
}

int truncate(const char *name, off_t size)
{
    char path[PATH_MAX];
    if (!name_concerned(AT_FDCWD, name, path))
        return syscall(SYS_truncate, name, size);
    long result = ALLOWED(ENTRY, syscall(SYS_truncate, name, size));
    return done("truncate", result, -1, size, path, "");
}

int fallocate(int fd, int how, off_t at, off_t size)
{
    char path[PATH_MAX];
    if (!file_concerned(fd, path))
        return syscall(SYS_fallocate, fd, how, at, size);
    long result = ALLOWED(ENTRY, syscall(SYS_fallocate, fd, how, at, size));
    return done(how ? "fallocate" : "extend", result, fd, at + size, path, "");
}

int posix_fallocate(int fd, off_t at, off_t size)
{
    return fallocate(fd, 0, at, size) ? errno : 0;
}

/* Files and folders are pushed to the disk. */

static int synced(int fd, long call)
{
    char path[PATH_MAX];
    if (!file_concerned(fd, path))
        return syscall(call, fd);
    long result = ALLOWED(ENTRY, syscall(call, fd));
    return done("sync", result, fd, 0, path, "");
}

int fsync(int fd)
{
    return synced(fd, SYS_fsync);
}

int fdatasync(int fd)
{
    return synced(fd, SYS_fdatasync);
}

/* Entries of folders change. */

int renameat2(int from, const char *old, int to, const char *new, unsigned flags)
{
    char old_path[PATH_MAX], new_path[PATH_MAX];
    int old_concerned = name_concerned(from, old, old_path);
    if (!(name_concerned(to, new, new_path) || old_concerned))
        return syscall(SYS_renameat2, from, old, to, new, flags);
    long result = ALLOWED(ENTRY, syscall(SYS_renameat2, from, old, to, new, flags));
    return done(flags ? "renameat2" : "rename", result, -1, flags, old_path, new_path);
}

int renameat(int from, const char *old, int to, const char *new)
{
    return renameat2(from, old, to, new, 0);
}

int rename(const char *old, const char *new)
{
    return renameat2(AT_FDCWD, old, AT_FDCWD, new, 0);
}

int linkat(int from, const char *old, int to, const char *new, int flags)
{
    char old_path[PATH_MAX], new_path[PATH_MAX];
    if (!name_concerned(to, new, new_path))
        return syscall(SYS_linkat, from, old, to, new, flags);
    name_concerned(from, old, old_path);
    long result = ALLOWED(ENTRY, syscall(SYS_linkat, from, old, to, new, flags));
    return done("link", result, -1, flags, old_path, new_path);
}

int link(const char *old, const char *new)
{
    return linkat(AT_FDCWD, old, AT_FDCWD, new, 0);
}

int symlinkat(const char *target, int folder, const char *name)
{
    char path[PATH_MAX];
    if (!name_concerned(folder, name, path))
        return syscall(SYS_symlinkat, target, folder, name);
    long result = ALLOWED(ENTRY, syscall(SYS_symlinkat, target, folder, name));
    return done("symlink", result, -1, 0, path, "");
}

int symlink(const char *target, const char *name)
{
    return symlinkat(target, AT_FDCWD, name);
}

int mkdirat(int folder, const char *name, mode_t permissions)
{
    char path[PATH_MAX];
    if (!name_concerned(folder, name, path))
        return syscall(SYS_mkdirat, folder, name, permissions);
    long result = ALLOWED(ENTRY, syscall(SYS_mkdirat, folder, name, permissions));
    return done("mkdir", result, -1, 0, path, "");
}

int mkdir(const char *name, mode_t permissions)
{
    return mkdirat(AT_FDCWD, name, permissions);
}

int unlinkat(int folder, const char *name, int flags)
{
    char path[PATH_MAX];
    if (!name_concerned(folder, name, path))
        return syscall(SYS_unlinkat, folder, name, flags);
    long result = ALLOWED(REMOVAL, syscall(SYS_unlinkat, folder, name, flags));
    return done(flags & AT_REMOVEDIR ? "rmdir" : "unlink", result, -1, 0, path, "");
}

int unlink(const char *name)
{
    return unlinkat(AT_FDCWD, name, 0);
}

int rmdir(const char *name)
{
    return unlinkat(AT_FDCWD, name, AT_REMOVEDIR);
}

/* Locks are not counted, because nothing on the disk changes. */

int flock(int fd, int operation)
{
    char path[PATH_MAX];
    if (mode == NO_LOCKS && !(operation & LOCK_UN) && file_concerned(fd, path)) {
        errno = ENOLCK;
        return -1;
    }
    return syscall(SYS_flock, fd, operation);
}

#ifdef __GLIBC__
/* The same under the names that programs with 64-bit offsets ask for. */
int open64(const char *, int, ...) __attribute__((alias("open")));
int openat64(int, const char *, int, ...) __attribute__((alias("openat")));
int creat64(const char *, mode_t) __attribute__((alias("creat")));
ssize_t pwrite64(int, const void *, size_t, off64_t) __attribute__((alias("pwrite")));
ssize_t pwritev64(int, const struct iovec *, int, off64_t) __attribute__((alias("pwritev")));
ssize_t pwritev64v2(int, const struct iovec *, int, off64_t, int) __attribute__((alias("pwritev2")));
ssize_t sendfile64(int, int, off64_t *, size_t) __attribute__((alias("sendfile")));
int ftruncate64(int, off64_t) __attribute__((alias("ftruncate")));
int truncate64(const char *, off64_t) __attribute__((alias("truncate")));
int fallocate64(int, int, off64_t, off64_t) __attribute__((alias("fallocate")));
int posix_fallocate64(int, off64_t, off64_t) __attribute__((alias("posix_fallocate")));
#endif
