/* Resources and templates. */
#include "server.h"

#define ITEM "fixture://item/{id}"

/* Answers with the text in `user`. */
static void text(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)req;
    mcplink_responder_text(resp, user, MCPLINK_NUL);
}

static void pixel(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    (void)req;
    mcplink_responder_bytes(resp, pixel_png, sizeof pixel_png, NULL);
}

static void every_byte(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    uint8_t bytes[256];
    size_t i;
    (void)user;
    (void)req;
    for (i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)i;
    mcplink_responder_bytes(resp, bytes, sizeof bytes, NULL);
}

static void item(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    answer_format(resp, "item %s", mcplink_json_str(mcplink_json_get(mcplink_request_args(req), "id")).ptr);
}

static void complete_id(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    static const char *const known[] = { "7", "42", "700" };
    (void)user;
    (void)req;
    mcplink_responder_values(resp, known, COUNT(known), true);
}

static void data(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_str_t id = mcplink_json_text(mcplink_json_get(mcplink_request_args(req), "id"));
    /* The id is JSON: it has quotes, and special characters are escaped. */
    int inner = (int)id.len - 2;
    (void)user;
    answer_format(resp, "{\"id\":%s,\"templateTest\":true,\"data\":\"Data for ID: %.*s\"}", id.ptr, inner < 0 ? 0 : inner, id.ptr + 1);
}

static const struct {
    const char *uri, *name, *mime_type;
    mcplink_handler_fn read;
    const char *text;
} table[] = {
    { "test://static-text", "static-text", "text/plain", text, "This is the content of the static text resource." },
    { "test://static-binary", "static-binary", "image/png", pixel, NULL },
    { "test://watched-resource", "watched-resource", "text/plain", text, "Subscribe to me, and call touch." },
    { "fixture://hello", "hello", "text/plain", text, "hello, resource" },
    { "fixture://blob", "blob", "application/octet-stream", every_byte, NULL },
    { "fixture://unicode", "unicode", "text/plain", text,
      "Gr\xc3\xbc\xc3\x9f" "e, \xe4\xb8\x96\xe7\x95\x8c \xf0\x9f\x8c\x8d\xe2\x80\xa8 end" },
};

static mcplink_status_t add_template(mcplink_server_t *srv, const char *uri_template, const char *name, const char *mime_type,
                                     mcplink_handler_fn read, mcplink_error_t **err)
{
    mcplink_template_t *template = mcplink_template_new(uri_template, name);
    mcplink_status_t st;
    mcplink_template_set_mime_type(template, mime_type);
    st = mcplink_server_add_template(srv, template, read, NULL, NULL, err);
    mcplink_template_free(template);
    return st;
}

mcplink_status_t add_resources(mcplink_server_t *srv, mcplink_error_t **err)
{
    mcplink_status_t st = MCPLINK_OK;
    size_t i;
    for (i = 0; i < COUNT(table) && st == MCPLINK_OK; i++) {
        mcplink_resource_t *resource = mcplink_resource_new(table[i].uri, table[i].name);
        mcplink_resource_set_mime_type(resource, table[i].mime_type);
        st = mcplink_server_add_resource(srv, resource, table[i].read, (void *)table[i].text, NULL, err);
        mcplink_resource_free(resource);
    }
    if (st == MCPLINK_OK) st = add_template(srv, "test://template/{id}/data", "data", "application/json", data, err);
    if (st == MCPLINK_OK) st = add_template(srv, ITEM, "item", "text/plain", item, err);
    if (st == MCPLINK_OK)
        st = mcplink_server_add_completer(srv, MCPLINK_PRIMITIVE_TEMPLATE, ITEM, "id", complete_id, NULL, NULL, err);
    return st;
}
