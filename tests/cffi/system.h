/* What the programs ask of the system: the two ends of a byte stream, and what this process has. */
#ifndef SYSTEM_H
#define SYSTEM_H

#include "check.h"

#include <time.h>

/* How long a test waits for anything, in milliseconds. */
#define PATIENCE 60000

#ifdef _WIN32

#include <io.h>
#include <windows.h>

/* An open file as the library takes it. */
#define FILE_NUMBER(file) ((ptrdiff_t)_get_osfhandle(_fileno(file)))

/* An end of a pipe that carries bytes both ways, opened for overlapped transfers. */
typedef HANDLE end_t;
#define NO_END INVALID_HANDLE_VALUE

static inline void make_ends(end_t ends[2])
{
    static LONG made;
    char name[64];
    snprintf(name, sizeof name, "\\\\.\\pipe\\mcplink-test-%lu-%ld", GetCurrentProcessId(), InterlockedIncrement(&made));
    ends[0] = CreateNamedPipeA(name, PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED | FILE_FLAG_FIRST_PIPE_INSTANCE, PIPE_TYPE_BYTE, 1, 1 << 16,
                               1 << 16, 0, NULL);
    CHECK(ends[0] != NO_END);
    ends[1] = CreateFileA(name, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING, FILE_FLAG_OVERLAPPED, NULL);
    CHECK(ends[1] != NO_END);
}

static inline void close_end(end_t end) { CloseHandle(end); }

/* Moves bytes in one direction; how many. 0 when the other end has gone. */
static inline size_t move_bytes(end_t end, char *to, const char *from, size_t len)
{
    OVERLAPPED moving;
    DWORD moved = 0;
    BOOL done;
    memset(&moving, 0, sizeof moving);
    moving.hEvent = CreateEventA(NULL, TRUE, FALSE, NULL);
    CHECK(moving.hEvent != NULL);
    done = to ? ReadFile(end, to, (DWORD)len, &moved, &moving) : WriteFile(end, from, (DWORD)len, &moved, &moving);
    if (!done && GetLastError() == ERROR_IO_PENDING) {
        CHECK(WaitForSingleObject(moving.hEvent, PATIENCE) == WAIT_OBJECT_0);
        done = GetOverlappedResult(end, &moving, &moved, TRUE);
    }
    CloseHandle(moving.hEvent);
    return done ? moved : 0;
}

static inline size_t read_end(end_t end, char *bytes, size_t len) { return move_bytes(end, bytes, NULL, len); }
static inline int write_end(end_t end, const char *bytes, size_t len) { return move_bytes(end, NULL, bytes, len) == len; }

/* How many handles the process has. */
static inline int open_count(void)
{
    DWORD count = 0;
    CHECK(GetProcessHandleCount(GetCurrentProcess(), &count));
    return (int)count;
}

#else

#include <dirent.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

/* An open file as the library takes it. */
#define FILE_NUMBER(file) fileno(file)

/* One of two sockets that are connected with each other. */
typedef int end_t;
#define NO_END (-1)

static inline void make_ends(end_t ends[2])
{
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
}

static inline void close_end(end_t end) { close(end); }

/* Reads some bytes; how many. 0 when the other end has gone. */
static inline size_t read_end(end_t end, char *bytes, size_t len)
{
    struct pollfd p;
    ssize_t got;
    p.fd = end;
    p.events = POLLIN;
    CHECK(poll(&p, 1, PATIENCE) == 1);
    got = read(end, bytes, len);
    return got > 0 ? (size_t)got : 0;
}

static inline int write_end(end_t end, const char *bytes, size_t len)
{
    return send(end, bytes, len, MSG_NOSIGNAL) == (ssize_t)len;
}

/* How many entries a folder of /proc has, with the two that every folder has. */
static inline int count_of(const char *what)
{
    char path[64];
    DIR *folder;
    int count = 0;
    snprintf(path, sizeof path, "/proc/self/%s", what);
    folder = opendir(path);
    CHECK(folder != NULL);
    while (readdir(folder) != NULL) count++;
    closedir(folder);
    return count;
}

/* How many descriptors the process has. */
static inline int open_count(void) { return count_of("fd"); }

#endif

/* An end as the library takes it. */
#define END_NUMBER(end) ((ptrdiff_t)(end))

#endif
