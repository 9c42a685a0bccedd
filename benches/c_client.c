/* Makes calls of 100 bytes through the C interface, one at a time. benches/c_calls compares it with
 * calls through Rust. c_client COUNT SERVER ARGS: prints the median time of COUNT calls, in
 * nanoseconds. */
#include <mcplink.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int by_size(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    char arguments[160];
    size_t count = argc > 2 ? (size_t)atol(argv[1]) : 0, i;
    int64_t *times = calloc(count ? count : 1, sizeof *times);
    mcplink_error_t *err = NULL;
    mcplink_client_t *client = NULL;
    mcplink_client_options_t *options = mcplink_client_options_new();
    mcplink_status_t status;

    if (count == 0 || times == NULL) return 2;
    memset(arguments, 'x', sizeof arguments);
    memcpy(arguments, "{\"message\":\"", 12);
    memcpy(arguments + 112, "\"}", 3);
    mcplink_client_options_set_command(options, (const char *const *)argv + 2);
    status = mcplink_client_open(options, &client, &err);
    for (i = 0; status == MCPLINK_OK && i < count; i++) {
        mcplink_result_t *result = NULL;
        int64_t start = now();
        status = mcplink_client_call_tool(client, "echo", arguments, 114, NULL, &result, &err);
        if (status == MCPLINK_OK && mcplink_result_text(result).len != 100) status = MCPLINK_E_USER;
        mcplink_result_free(result);
        times[i] = now() - start;
    }
    if (status != MCPLINK_OK) {
        fprintf(stderr, "%s: %s\n", mcplink_status_name(status), mcplink_error_message(err));
        return 1;
    }
    qsort(times, count, sizeof *times, by_size);
    printf("%lld\n", (long long)times[count / 2]);
    mcplink_error_free(err);
    mcplink_client_free(client);
    mcplink_client_options_free(options);
    free(times);
    return 0;
}
