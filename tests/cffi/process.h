/* What the system knows of this process. */
#ifndef PROCESS_H
#define PROCESS_H

#include "system.h"

#ifdef _WIN32

#include <tlhelp32.h>

/* How many threads this process has. */
static inline int threads(void)
{
    HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
    THREADENTRY32 entry;
    int count = 0;
    BOOL there;
    CHECK(all != INVALID_HANDLE_VALUE);
    entry.dwSize = sizeof entry;
    for (there = Thread32First(all, &entry); there; there = Thread32Next(all, &entry)) {
        count += entry.th32OwnerProcessID == GetCurrentProcessId();
    }
    CloseHandle(all);
    return count;
}

#else

/* How many threads this process has. */
static inline int threads(void) { return count_of("task") - 2; }

#endif

#endif
