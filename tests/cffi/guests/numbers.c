/* A host that writes numbers with a comma: JSON has points all the same, both ways. */
#include "guest.h"

int main(int argc, char **argv)
{
    mcplink_json_t *doc = NULL;
    mcplink_error_t *err = NULL;
    mcplink_writer_t *w = mcplink_writer_new();
    mcplink_client_t *client;
    mcplink_str_t text;
    state_t before;
    char line[16];
    (void)argv;
    if (argc > 1) return serve();
    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL && setlocale(LC_ALL, "de_DE") == NULL) {
        fprintf(stderr, "NOT CHECKED: this machine has no locale de_DE, and tests/cffi/guests/prepare could not make it\n");
        return 0;
    }
    snprintf(line, sizeof line, "%.1f", 1.5);
    CHECK(strcmp(line, "1,5") == 0);
    state_take(&before);
    CHECK(mcplink_writer_begin_array(w) == MCPLINK_OK && mcplink_writer_f64(w, 1234567.25) == MCPLINK_OK);
    CHECK(mcplink_writer_f64(w, -1e-7) == MCPLINK_OK && mcplink_writer_end(w) == MCPLINK_OK);
    CHECK_STATUS(mcplink_writer_finish(w, &text, &err), MCPLINK_OK, err);
    CHECK_TEXT(text, "[1234567.25,-1e-7]");
    CHECK_STATUS(mcplink_json_parse(text.ptr, text.len, &doc, &err), MCPLINK_OK, err);
    CHECK(mcplink_json_f64(mcplink_json_at(doc, 0)) == 1234567.25 && mcplink_json_f64(mcplink_json_at(doc, 1)) == -1e-7);
    mcplink_json_free(doc);
    mcplink_writer_free(w);
    client = guest_client();
    guest_greets(client);
    mcplink_client_free(client);
    state_same(&before);
    return 0;
}
