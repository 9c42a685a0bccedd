/* Servers that write beside the letter of the specification. */
#include "peer.h"

#define BAD_TOOLS                                                                                                          \
    "{\"tools\":[{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\"},\"annotations\":{\"readOnlyHint\":\"yes\"}},"   \
    "{\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"b\",\"inputSchema\":{\"type\":\"object\"}}]}"
#define BAD_CONTENT                                                                                        \
    "{\"content\":[{\"type\":\"text\",\"text\":\"one\"},{\"type\":\"resource_link\",\"uri\":\"a:b\"}," \
    "{\"type\":\"image\",\"data\":\"--__\\nPg\",\"mimeType\":\"a/b\"}]}"

static void sloppy(struct peer *p, const char *method, const mcplink_json_t *message)
{
    if (strcmp(method, "tools/list") == 0)
        peer_respond(p, message, BAD_TOOLS);
    else if (strcmp(method, "tools/call") == 0)
        peer_respond(p, message, BAD_CONTENT);
    else if (strcmp(method, "ping") == 0)
        peer_respond(p, message, "[]");
}

static mcplink_str_t text_of(const mcplink_json_t *misfits, size_t index, const char *key)
{
    return mcplink_json_str(mcplink_json_get(mcplink_json_at(misfits, index), key));
}

static void what_does_not_fit_is_told(void)
{
    struct peer p;
    mcplink_client_t *c;
    mcplink_result_t *r = NULL;
    const mcplink_json_t *misfits;
    int64_t place = -1;
    size_t len = 0;

    peer_begin(&p, sloppy);
    c = peer_open(&p);
    CHECK(mcplink_client_list_tools(c, NULL, &r, NULL) == MCPLINK_OK);
    CHECK(mcplink_json_len(mcplink_json_get(mcplink_result_json(r), "tools")) == 2);
    misfits = mcplink_result_misfits(r);
    CHECK(mcplink_json_len(misfits) == 2 && mcplink_result_misfits(r) == misfits);
    CHECK(mcplink_json_i64(mcplink_json_get(mcplink_json_at(misfits, 0), "index"), &place) && place == 0);
    CHECK_TEXT(text_of(misfits, 0, "name"), "a");
    CHECK_TEXT(text_of(misfits, 0, "path"), "/tools/0/annotations/readOnlyHint");
    CHECK(text_of(misfits, 0, "reason").len > 0);
    CHECK_TEXT(text_of(misfits, 1, "path"), "/tools/1");
    CHECK(mcplink_json_type_of(mcplink_json_get(mcplink_json_at(misfits, 1), "name")) == MCPLINK_JSON_NULL);
    mcplink_result_free(r);

    /* The result of a call is shown as it came. */
    CHECK(mcplink_client_call_tool(c, "a", NULL, 0, NULL, &r, NULL) == MCPLINK_OK);
    CHECK(mcplink_result_content_count(r) == 3);
    misfits = mcplink_result_misfits(r);
    CHECK(mcplink_json_len(misfits) == 1);
    CHECK_TEXT(text_of(misfits, 0, "path"), "/content/1");
    CHECK_TEXT(text_of(misfits, 0, "name"), "a:b");
    CHECK(mcplink_result_content_bytes(r, 2, &len) != NULL && len == 4);
    mcplink_result_free(r);

    CHECK(mcplink_client_ping(c, NULL, NULL) == MCPLINK_OK);
    mcplink_client_free(c);
    mcplink_transport_free(p.transport);
    CHECK(mcplink_result_misfits(NULL) == NULL);
}

static void to_the_letter_it_is_refused(void)
{
    struct peer p;
    mcplink_client_options_t *o;
    mcplink_client_t *c;
    mcplink_result_t *r = NULL;

    peer_begin(&p, sloppy);
    o = peer_options(&p);
    CHECK(mcplink_client_options_set_strict(o, true) == MCPLINK_OK);
    c = open_with(o, NULL);
    CHECK(mcplink_client_list_tools(c, NULL, &r, NULL) == MCPLINK_E_PROTOCOL && r == NULL);
    CHECK(mcplink_client_call_tool(c, "a", NULL, 0, NULL, &r, NULL) == MCPLINK_E_PROTOCOL && r == NULL);
    CHECK(mcplink_client_ping(c, NULL, NULL) == MCPLINK_E_PROTOCOL);
    mcplink_client_free(c);
    mcplink_transport_free(p.transport);
    CHECK(mcplink_client_options_set_strict(NULL, true) == MCPLINK_E_INVALID);
}

static void capabilities_can_be_assumed(void)
{
    struct peer p;
    mcplink_client_options_t *o;
    mcplink_client_t *c;
    mcplink_result_t *r = NULL;

    peer_begin(&p, sloppy);
    p.capabilities = "[]";
    c = peer_open(&p);
    CHECK(mcplink_client_list_tools(c, NULL, &r, NULL) == MCPLINK_E_UNSUPPORTED && r == NULL);
    mcplink_client_free(c);
    mcplink_transport_free(p.transport);

    peer_begin(&p, sloppy);
    p.capabilities = "{}";
    o = peer_options(&p);
    CHECK(mcplink_client_options_set_assume_capabilities(o, true) == MCPLINK_OK);
    c = open_with(o, NULL);
    CHECK(mcplink_client_list_tools(c, NULL, &r, NULL) == MCPLINK_OK);
    mcplink_result_free(r);
    mcplink_client_free(c);
    mcplink_transport_free(p.transport);
    CHECK(mcplink_client_options_set_assume_capabilities(NULL, true) == MCPLINK_E_INVALID);
}

int main(void)
{
    what_does_not_fit_is_told();
    to_the_letter_it_is_refused();
    capabilities_can_be_assumed();
    return 0;
}
