/* The configuration files of hosts: what is read of them, and clients of the servers that they name. */
#include "client.h"

#include <unistd.h>

static char path[] = "/tmp/mcplink-config-XXXXXX";

/* Reads a file with this text. */
static mcplink_config_t *reads(const char *text, mcplink_status_t expected)
{
    mcplink_config_t *config = NULL;
    mcplink_error_t *err = NULL;
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
    CHECK_STATUS(mcplink_config_read(path, NULL, &config, &err), expected, err);
    CHECK((config != NULL) == (expected == MCPLINK_OK));
    return config;
}

/* Opens a client of a server of the file. */
static mcplink_client_t *opens_with(mcplink_client_options_t *o, mcplink_config_t *config, const char *name, mcplink_status_t expected, const char *why)
{
    mcplink_client_t *client = NULL;
    mcplink_error_t *err = NULL;
    mcplink_status_t status;
    mcplink_client_options_set_configured(o, config, name);
    status = mcplink_client_open(o, &client, &err);
    if (status != expected || (why && strstr(mcplink_error_message(err), why) == NULL)) {
        fprintf(stderr, "%s: %s: %s\n", name, mcplink_status_name(status), mcplink_error_message(err));
        exit(1);
    }
    mcplink_error_free(err);
    mcplink_client_options_free(o);
    return client;
}

static mcplink_client_t *opens(mcplink_config_t *config, const char *name, mcplink_status_t expected, const char *why)
{
    return opens_with(mcplink_client_options_new(), config, name, expected, why);
}

int main(void)
{
    static const char format[] =
        "{\n"
        "  // as editors write it\n"
        "  \"inputs\": [{\"id\":\"mode\",\"type\":\"promptString\",\"description\":\"how to serve\",\"password\":true}],\n"
        "  \"servers\": {\n"
        "    \"every\": {\"command\":\"%s\",\"args\":[\"${input:mode}\"],\"unknown\":1},\n"
        "    \"off\": {\"command\":\"none\",\"disabled\":true},\n"
        "    \"needs\": {\"command\":\"${MCPLINK_TEST_IS_NOT_SET}\"},\n"
        "    \"web\": {\"url\":\"http://127.0.0.1:1/mcp\",\"headers\":{\"Authorization\":\"Bearer secret\"}},\n"
        "    \"zealous\": {\"command\":\"/bin/sh\",\"args\":[\"-c\",\"test $API_KEY = sesame && exec '%s' stdio\"],\"env\":{\"API_KEY\":\"sesame\"}},\n"
        "  },\n"
        "}\n";
    char text[8192], folder[] = "/tmp";
    mcplink_config_t *config, *other = NULL;
    mcplink_json_t *shown = NULL;
    mcplink_error_t *err = NULL;
    mcplink_client_options_t *o;
    mcplink_client_t *client;
    mcplink_result_t *r = NULL;
    const mcplink_json_t *servers;
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);

    CHECK(reads("[]", MCPLINK_E_INVALID) == NULL && reads("{}", MCPLINK_E_INVALID) == NULL);
    CHECK_STATUS(mcplink_config_read("/nowhere/mcp.json", NULL, &config, &err), MCPLINK_E_IO, err);
    CHECK_STATUS(mcplink_config_read(" ", NULL, &config, &err), MCPLINK_E_INVALID, err);

    snprintf(text, sizeof text, format, everything_server(), everything_server());
    config = reads(text, MCPLINK_OK);
    CHECK_STATUS(mcplink_config_read(path, folder, &other, &err), MCPLINK_OK, err);
    mcplink_config_free(other);
    CHECK_STATUS(mcplink_config_describe(config, &shown, &err), MCPLINK_OK, err);
    servers = mcplink_json_get(shown, "servers");
    CHECK(mcplink_json_len(servers) == 5);
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(servers, "/0/name")), "every");
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(servers, "/0/command/1")), "${input:mode}");
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(servers, "/0/inputs/0")), "mode");
    CHECK(mcplink_json_f64(mcplink_json_pointer(servers, "/0/extra/unknown")) == 1);
    CHECK(mcplink_json_len(mcplink_json_pointer(servers, "/2/extra")) == 0);
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(servers, "/2/name")), "off");
    CHECK(mcplink_json_boolean(mcplink_json_pointer(servers, "/2/disabled")));
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(servers, "/3/url")), "http://127.0.0.1:1/mcp");
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(shown, "/inputs/0/description")), "how to serve");
    CHECK(mcplink_json_boolean(mcplink_json_pointer(shown, "/inputs/0/password")));
    CHECK(strstr(mcplink_json_str(mcplink_json_pointer(shown, "/warnings/0")).ptr, "unknown") != NULL);
    CHECK(strstr(mcplink_json_text(shown).ptr, "secret") == NULL);
    mcplink_json_free(shown);

    /* A value that is missing is told when it is needed, and harms no other server. */
    opens(config, "every", MCPLINK_E_INVALID, "mode");
    opens(config, "needs", MCPLINK_E_INVALID, "MCPLINK_TEST_IS_NOT_SET");
    opens(config, "nobody", MCPLINK_E_INVALID, "no server 'nobody'");
    opens(NULL, "every", MCPLINK_E_INVALID, "config");
    if (mcplink_has_feature("http-client")) opens(config, "web", MCPLINK_E_IO, NULL);
    CHECK(mcplink_config_set_input(config, "mode", NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_config_set_input(config, "mode", "stdio") == MCPLINK_OK);
    /* What the file sets is there, though the process inherits nothing. */
    o = mcplink_client_options_new();
    CHECK(mcplink_client_options_clear_env(o) == MCPLINK_OK);
    mcplink_client_free(opens_with(o, config, "zealous", MCPLINK_OK, NULL));
    client = opens(config, "every", MCPLINK_OK, NULL);
    mcplink_config_free(config);
    CHECK_STATUS(mcplink_client_list_tools(client, NULL, &r, &err), MCPLINK_OK, err);
    CHECK(mcplink_json_len(mcplink_json_get(mcplink_result_json(r), "tools")) > 0);
    mcplink_result_free(r);
    /* A request that the server answered was sent; one that it never got was not. */
    CHECK(mcplink_client_request(client, "com.example/none", NULL, 0, NULL, &r, &err) == MCPLINK_E_PEER);
    CHECK(mcplink_error_was_sent(err));
    mcplink_error_free(err);
    CHECK_STATUS(mcplink_client_close(client, LONG_SECONDS * 1000, &err), MCPLINK_OK, err);
    CHECK(mcplink_client_ping(client, NULL, &err) == MCPLINK_E_CLOSED && !mcplink_error_was_sent(err));
    mcplink_error_free(err);
    mcplink_client_free(client);
    CHECK(unlink(path) == 0);
    return 0;
}
