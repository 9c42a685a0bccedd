/* Does wrong, on purpose, what its argument says. */
#include "check.h"

static int mistakes;

static void on_log(void *user, mcplink_log_level level, mcplink_str_t target, mcplink_str_t text)
{
    (void)user; (void)level;
    fprintf(stderr, "%s: %s\n", target.ptr, text.ptr);
    mistakes++;
}

int main(int argc, char **argv)
{
    const char *mistake = argc > 1 ? argv[1] : "";
    mcplink_json_t *doc = NULL;
    CHECK(mcplink_json_parse("{\"a\":[1,2,3]}", MCPLINK_NUL, &doc, NULL) == MCPLINK_OK);
    if (strcmp(mistake, "leak") == 0) {
        doc = NULL;
        return 0;
    }
    if (strcmp(mistake, "use-after-free") == 0) {
        mcplink_str_t text = mcplink_json_text(doc);
        mcplink_json_free(doc);
        return text.ptr[0] == '{';
    }
    mcplink_json_free(doc);
    if (strcmp(mistake, "double-free") == 0) {
        mcplink_call_options_t *options = mcplink_call_options_new();
        mcplink_set_log(MCPLINK_LOG_ERROR, on_log, NULL, NULL);
        mcplink_call_options_free(options);
        mcplink_call_options_free(options);
    }
    return mistakes;
}
