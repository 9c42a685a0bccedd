/* The header and the library belong together. */
#include <mcplink.h>
#include <mcplink.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
    char expected[32];
    snprintf(expected, sizeof expected, "%d.%d.%d", MCPLINK_VERSION_MAJOR, MCPLINK_VERSION_MINOR, MCPLINK_VERSION_PATCH);
    if (strncmp(mcplink_version(), expected, strlen(expected)) != 0) return 1;
    if (mcplink_version_number() != MCPLINK_VERSION_NUMBER) return 2;
    if (!mcplink_check_version(MCPLINK_VERSION_NUMBER)) return 3;
    if (mcplink_check_version(MCPLINK_VERSION_NUMBER + 1)) return 4;
    printf("linked with mcplink %s\n", mcplink_version());
    return 0;
}
