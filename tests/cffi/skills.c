/* Skills: a server publishes them from a folder, and a client lists and gets them. */
#include "client.h"

#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/mcplink-skills-XXXXXX";

static void write_file(const char *name, const char *text)
{
    char path[200];
    FILE *file;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void make_folder(const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK(mkdir(path, 0700) == 0);
}

static void remove_all(void)
{
    char command[200];
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
}

static mcplink_client_t *connect_to(mcplink_server_t *server, mcplink_session_t **session)
{
    mcplink_transport_t *here = NULL, *there = NULL;
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_client_t *c;
    mcplink_error_t *err = NULL;
    CHECK_STATUS(mcplink_transport_pair(&here, &there, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_server_attach(server, there, NULL, session, &err), MCPLINK_OK, err);
    CHECK(mcplink_client_options_set_transport(o, here) == MCPLINK_OK);
    c = open_with(o, NULL);
    mcplink_transport_free(here), mcplink_transport_free(there);
    return c;
}

/* The number of skills, and the name of the first. */
static size_t listed(mcplink_client_t *c, const char *first)
{
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;
    size_t count;
    const mcplink_json_t *skills;
    CHECK_STATUS(mcplink_client_list_skills(c, NULL, &r, &err), MCPLINK_OK, err);
    skills = mcplink_json_get(mcplink_result_json(r), "skills");
    count = mcplink_json_len(skills);
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(mcplink_json_at(skills, 0), "/frontmatter/name")), first);
    mcplink_result_free(r);
    return count;
}

static void published(void)
{
    static const char broken[] = "no front matter";
    mcplink_server_options_t *o = mcplink_server_options_new("s", "1");
    mcplink_server_t *server = NULL;
    mcplink_session_t *session = NULL;
    mcplink_client_t *c;
    mcplink_result_t *r = NULL;
    mcplink_json_t *told = NULL;
    mcplink_call_t *call = NULL;
    mcplink_error_t *err = NULL;
    CHECK(mkdtemp(folder) != NULL);
    make_folder("refunds");
    make_folder("broken");
    write_file("refunds/SKILL.md", "---\nname: refunds\ndescription: How money goes back\n---\nFirst ask.\n");
    write_file("refunds/form.txt", "form");
    write_file("broken/SKILL.md", broken);
    CHECK(mcplink_server_options_add_skills(o, folder, "skill://acme") == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_new_with(o, &server, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_server_skipped_skills(server, &told, &err), MCPLINK_OK, err);
    CHECK(mcplink_json_len(told) == 1 && strstr(mcplink_json_str(mcplink_json_pointer(told, "/0/path")).ptr, "broken") != NULL);
    CHECK((int)mcplink_json_f64(mcplink_json_pointer(told, "/0/status")) == MCPLINK_E_INVALID);
    mcplink_json_free(told);

    c = connect_to(server, &session);
    CHECK(listed(c, "refunds") == 1);
    CHECK_STATUS(mcplink_client_get_skill(c, "skill://acme/refunds/SKILL.md", NULL, &r, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(mcplink_result_json(r), "/skill/frontmatter/description")), "How money goes back");
    mcplink_result_free(r);
    CHECK_STATUS(mcplink_client_get_skill(c, "skill://acme/none/SKILL.md", NULL, &r, &err), MCPLINK_E_PEER, err);
    CHECK_STATUS(mcplink_client_list_directory(c, "skill://acme/refunds", NULL, &r, &err), MCPLINK_OK, err);
    CHECK(mcplink_json_len(mcplink_json_get(mcplink_result_json(r), "resources")) == 2);
    mcplink_result_free(r);
    CHECK_STATUS(mcplink_client_read_resource(c, "skill://acme/refunds/form.txt", NULL, &r, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_result_text(r), "form");
    mcplink_result_free(r);

    write_file("broken/SKILL.md", "---\nname: broken\ndescription: Mended\n---\n");
    CHECK_STATUS(mcplink_server_reload_skills(server, &told, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(told, "/added/0")), "skill://acme/broken/SKILL.md");
    CHECK(mcplink_json_len(mcplink_json_get(told, "removed")) == 0);
    mcplink_json_free(told);
    CHECK(listed(c, "refunds") == 2);
    CHECK_STATUS(mcplink_client_list_skills_start(c, NULL, NULL, NULL, NULL, &call, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_call_wait(call, MCPLINK_FOREVER, &r, &err), MCPLINK_OK, err);
    mcplink_call_free(call);
    mcplink_result_free(r);
    mcplink_client_free(c);
    mcplink_session_free(session);
    mcplink_server_free(server);
    mcplink_server_options_free(o);
    remove_all();

    /* A folder that is gone when the server is made. */
    o = mcplink_server_options_new("s", "1");
    CHECK(mcplink_server_options_add_skills(o, folder, NULL) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_new_with(o, &server, &err), MCPLINK_E_IO, err);
    mcplink_server_options_free(o);
}

static void without(void)
{
    mcplink_server_options_t *o = mcplink_server_options_new("s", "1");
    mcplink_server_t *server = NULL;
    mcplink_session_t *session = NULL;
    mcplink_client_t *c;
    mcplink_result_t *r = NULL;
    mcplink_json_t *told = NULL;
    mcplink_error_t *err = NULL;
    if (!mcplink_has_feature("skills")) CHECK(mcplink_server_options_add_skills(o, "/tmp", NULL) == MCPLINK_E_UNSUPPORTED);
    else CHECK(mcplink_server_options_add_skills(o, " ", NULL) == MCPLINK_E_INVALID);
    mcplink_server_options_free(o);
    server = mcplink_server_new("s", "1");
    CHECK_STATUS(mcplink_server_reload_skills(server, &told, &err), MCPLINK_OK, err);
    CHECK(mcplink_json_len(mcplink_json_get(told, "added")) == 0);
    mcplink_json_free(told);
    CHECK_STATUS(mcplink_server_skipped_skills(server, &told, &err), MCPLINK_OK, err);
    CHECK(mcplink_json_len(told) == 0);
    mcplink_json_free(told);
    c = connect_to(server, &session);
    CHECK_STATUS(mcplink_client_list_skills(c, NULL, &r, &err), MCPLINK_E_UNSUPPORTED, err);
    CHECK_STATUS(mcplink_client_get_skill(c, "skill://a/SKILL.md", NULL, &r, &err), MCPLINK_E_UNSUPPORTED, err);
    CHECK_STATUS(mcplink_client_list_directory(c, "skill://a", NULL, &r, &err), MCPLINK_E_UNSUPPORTED, err);
    mcplink_client_free(c);
    mcplink_session_free(session);
    mcplink_server_free(server);
}

int main(void)
{
    if (mcplink_has_feature("skills")) published();
    without();
    puts("skills are published and got");
    return 0;
}
