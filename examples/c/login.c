/* A client of a server that requires a login: login URL
 *
 * The program prints the server and the scopes before the browser opens. The person logs in there,
 * and the library listens for the redirect. Tokens are kept in a folder, so the next start needs no
 * login. Ctrl-C cancels. */
#include <mcplink.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* Runs before the browser opens, on a thread of the library. */
static void tell(void *user, mcplink_login_t *login)
{
    const char *browser = user;
    fprintf(stderr, "%s wants you to log in at %s", mcplink_login_server(login).ptr, mcplink_login_authorization_server(login).ptr);
    if (mcplink_login_scopes(login).len > 0) fprintf(stderr, ", and to allow: %s", mcplink_login_scopes(login).ptr);
    fprintf(stderr, "\n%s %s\n", *browser == 0 ? "Go to" : "If no browser comes up, go to", mcplink_login_url(login).ptr);
}

static sigset_t interrupts;
static mcplink_cancel_t *escape;

/* A signal handler must not trigger a token, so a thread waits for the signal. */
static void *wait_for_interrupt(void *unused)
{
    int number;
    (void)unused;
    sigwait(&interrupts, &number);
    mcplink_cancel_trigger(escape);
    return NULL;
}

static mcplink_oauth_t *how_to_log_in(void)
{
    mcplink_oauth_t *oauth = mcplink_oauth_new();
    /* NULL means the system's default, "" means none. */
    const char *browser = getenv("BROWSER"), *folder = getenv("LOGIN_STORE");
    mcplink_oauth_set_client_name(oauth, "mcplink login example", NULL);
    mcplink_oauth_set_browser(oauth, 0, browser, NULL, tell, browser != NULL ? (void *)browser : "system", NULL);
    mcplink_oauth_set_store_folder(oauth, folder);
    return oauth;
}

int main(int argc, char **argv)
{
    mcplink_client_options_t *o;
    mcplink_oauth_t *oauth;
    mcplink_client_t *c = NULL;
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;
    mcplink_status_t st;
    pthread_t thread;
    size_t i;
    if (argc != 2) {
        fprintf(stderr, "usage: login URL\n");
        return 2;
    }
    sigemptyset(&interrupts);
    sigaddset(&interrupts, SIGINT);
    pthread_sigmask(SIG_BLOCK, &interrupts, NULL);
    escape = mcplink_cancel_new();
    if (pthread_create(&thread, NULL, wait_for_interrupt, NULL) != 0) return 1;

    oauth = how_to_log_in();
    o = mcplink_client_options_new();
    mcplink_client_options_set_url(o, argv[1]);
    mcplink_client_options_set_oauth(o, oauth);
    mcplink_client_options_set_cancel(o, escape);
    st = mcplink_client_open(o, &c, &err);
    if (st == MCPLINK_OK) st = mcplink_client_list_tools(c, NULL, &r, &err);
    if (st == MCPLINK_OK) {
        const mcplink_json_t *tools = mcplink_json_get(mcplink_result_json(r), "tools");
        for (i = 0; i < mcplink_json_len(tools); i++) puts(mcplink_json_str(mcplink_json_get(mcplink_json_at(tools, i), "name")).ptr);
    } else if (mcplink_error_oauth_code(err).len > 0) {
        fprintf(stderr, "not let in: %s\n", mcplink_error_oauth_code(err).ptr);
    } else {
        fprintf(stderr, "%s\n", mcplink_error_message(err));
    }
    mcplink_result_free(r);
    mcplink_error_free(err);
    mcplink_client_free(c);
    mcplink_client_options_free(o);
    mcplink_oauth_free(oauth);
    pthread_kill(thread, SIGINT);
    pthread_join(thread, NULL);
    mcplink_cancel_free(escape);
    return st != MCPLINK_OK;
}
