/* Logins and tokens of clients: with a function of the host's, in a browser, for machines; refused, cancelled, kept; and what ends when. */
#include "issuer.h"

static atomic_int ended;
static void count_end(void *user) { ended += *(int *)user; }
static int one = 1, ten = 10;

#define ENDED(number) CHECK(atomic_exchange(&ended, 0) == (number))

static mcplink_client_options_t *options_of(const mcplink_oauth_t *oauth)
{
    mcplink_client_options_t *o = mcplink_client_options_new();
    CHECK(mcplink_client_options_set_url(o, resource.url) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_timeout_ms(o, PATIENCE) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_oauth(o, oauth) == MCPLINK_OK);
    return o;
}

static mcplink_client_t *open_client(const mcplink_oauth_t *oauth)
{
    mcplink_client_options_t *o = options_of(oauth);
    mcplink_client_t *c = NULL;
    mcplink_error_t *err = NULL;
    CHECK_STATUS(mcplink_client_open(o, &c, &err), MCPLINK_OK, err);
    mcplink_client_options_free(o);
    return c;
}

/* Opening fails so. The text of the error is there until the next one. */
static const char *fails(const mcplink_oauth_t *oauth, mcplink_status_t expected, const char *code)
{
    static char text[1024];
    mcplink_client_options_t *o = options_of(oauth);
    mcplink_client_t *c = NULL;
    mcplink_error_t *err = NULL;
    mcplink_status_t st = mcplink_client_open(o, &c, &err);
    snprintf(text, sizeof text, "%s", mcplink_error_message(err));
    if (st != expected) fprintf(stderr, "%s: %s\n", mcplink_status_name(st), text);
    CHECK(st == expected && c == NULL);
    CHECK_TEXT(mcplink_error_oauth_code(err), code);
    mcplink_error_free(err);
    mcplink_client_options_free(o);
    return text;
}

static void says(mcplink_client_t *c, const char *tool, const char *expected)
{
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;
    CHECK_STATUS(mcplink_client_call_tool(c, tool, "{}", 2, NULL, &r, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_result_text(r), expected);
    mcplink_result_free(r);
}

/* What the person that is asked does. */
enum deed { ANSWER, ANSWER_LATER, REFUSE, NOTHING, KEEP, KEEP_AND_LET_GO, WAIT_INSIDE };

static struct {
    enum deed deed;
    atomic_int visits, overs, returned;
    mcplink_login_t *kept;
    pthread_t thread;
    char scopes[256], url[2048];
} person;

static void on_over(void *user)
{
    CHECK(*(int *)user == 1);
    person.overs++;
}

static atomic_int foreign_urls;

/* What a browser asks for besides is no warning, and its query is nobody's business. */
static void log_foreign(void *user, mcplink_log_level level, mcplink_str_t target, mcplink_str_t text)
{
    (void)user;
    if (strstr(text.ptr, "mcplink_login_answer") == NULL || strcmp(target.ptr, "auth") != 0) return;
    CHECK(level == MCPLINK_LOG_DEBUG);
    CHECK_TEXT(text, "mcplink_login_answer: http://127.0.0.1/favicon.ico is not the answer to this login");
    foreign_urls++;
}

static void answer(mcplink_login_t *login)
{
    char target[1024], other[1100];
    follow(mcplink_login_url(login).ptr, target, sizeof target);
    snprintf(other, sizeof other, "%s&state=x", target);
    foreign_urls = 0;
    CHECK(mcplink_set_log(MCPLINK_LOG_DEBUG, log_foreign, NULL, NULL) == MCPLINK_OK);
    CHECK(mcplink_login_answer(login, "http://me:secret@127.0.0.1:1/favicon.ico?code=secret#secret", MCPLINK_NUL) == MCPLINK_E_INVALID);
    CHECK(mcplink_set_log(MCPLINK_LOG_DEBUG, NULL, NULL, NULL) == MCPLINK_OK);
    CHECK(foreign_urls == 1);
    /* What anybody can make is no answer. */
    CHECK(mcplink_login_answer(login, REDIRECT "?code=x&state=y", MCPLINK_NUL) == MCPLINK_E_INVALID);
    CHECK(mcplink_login_answer(login, other, MCPLINK_NUL) == MCPLINK_E_INVALID);
    CHECK(mcplink_login_answer(login, NULL, 1) == MCPLINK_E_INVALID && mcplink_login_answer(login, "\xff", 1) == MCPLINK_E_INVALID);
    CHECK(mcplink_login_answer(login, mcplink_login_url(login).ptr, MCPLINK_NUL) == MCPLINK_E_INVALID);
    CHECK(mcplink_login_answer(login, target, strlen(target)) == MCPLINK_OK);
    CHECK(mcplink_login_answer(login, target, strlen(target)) == MCPLINK_E_STATE && mcplink_login_refuse(login, "late") == MCPLINK_E_STATE);
}

static void *answers_later(void *login)
{
    answer(login);
    UNTIL(mcplink_login_is_done(login));
    mcplink_login_free(login);
    return NULL;
}

static void visit(void *user, mcplink_login_t *login)
{
    CHECK(user != NULL);
    CHECK(strncmp(mcplink_login_url(login).ptr, issuer.url, strlen(issuer.url)) == 0);
    CHECK_TEXT(mcplink_login_authorization_server(login), issuer.url);
    CHECK_TEXT(mcplink_login_server(login), resource.url);
    CHECK(!mcplink_login_is_done(login));
    snprintf(person.url, sizeof person.url, "%s", mcplink_login_url(login).ptr);
    snprintf(person.scopes, sizeof person.scopes, "%s", mcplink_login_scopes(login).ptr);
    CHECK(mcplink_login_on_done(login, on_over, &ten, count_end) == MCPLINK_OK);
    CHECK(mcplink_login_on_done(login, on_over, &one, count_end) == MCPLINK_OK);
    ENDED(10);
    /* Who waits for this may have it end now. */
    person.visits++;
    switch (person.deed) {
    case ANSWER: answer(login); break;
    case ANSWER_LATER:
        CHECK(mcplink_login_keep(login) == login && pthread_create(&person.thread, NULL, answers_later, login) == 0);
        break;
    case REFUSE: CHECK(mcplink_login_refuse(login, "no time today") == MCPLINK_OK); break;
    case NOTHING: break;
    case KEEP: person.kept = mcplink_login_keep(login); break;
    case KEEP_AND_LET_GO: mcplink_login_free(mcplink_login_keep(mcplink_login_keep(login))), mcplink_login_free(login); break;
    case WAIT_INSIDE: UNTIL(mcplink_login_is_done(login)); break;
    }
    person.returned++;
}

/* A login is over. What was registered for its end has ended, and has run if somebody had the login then. */
static void login_is_over(int overs)
{
    UNTIL(ended == 1);
    CHECK(person.overs == overs);
    person.overs = person.visits = person.returned = 0;
    ended = 0;
}

static mcplink_oauth_t *visited(enum deed deed)
{
    mcplink_oauth_t *oauth = mcplink_oauth_new();
    person.deed = deed;
    CHECK(mcplink_oauth_set_user_agent(oauth, REDIRECT, visit, &one, NULL) == MCPLINK_OK);
    CHECK(mcplink_oauth_set_client_name(oauth, "tester", "https://tester.example") == MCPLINK_OK);
    CHECK(mcplink_oauth_set_login_timeout_ms(oauth, PATIENCE) == MCPLINK_OK);
    CHECK(mcplink_oauth_set_step_timeout_ms(oauth, PATIENCE) == MCPLINK_OK);
    issuer_forget();
    return oauth;
}

/* Without any settings for logins the host is told what the server wants. */
static void no_login_at_all(void)
{
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_client_t *c = NULL;
    mcplink_error_t *err = NULL;
    CHECK(mcplink_error_http_status(NULL) == 0 && mcplink_error_http_challenge(NULL).len == 0);
    CHECK(mcplink_client_options_set_url(o, resource.url) == MCPLINK_OK);
    CHECK(mcplink_client_open(o, &c, &err) == MCPLINK_E_AUTH && c == NULL);
    CHECK(mcplink_error_http_status(err) == 401);
    CHECK(strncmp(mcplink_error_http_challenge(err).ptr, "Bearer ", 7) == 0);
    CHECK(strstr(mcplink_error_http_challenge(err).ptr, "resource_metadata=") != NULL);
    mcplink_error_free(err);
    mcplink_client_options_free(o);
}

/* A person logs in, once for all clients with the same settings, and again for more. */
static void logins(void)
{
    mcplink_oauth_t *oauth = visited(ANSWER);
    mcplink_client_t *first = open_client(oauth), *second;
    CHECK(person.visits == 1 && issuer.logins == 1 && issuer.registrations == 1 && issuer.tokens == 1);
    CHECK_TEXT(((mcplink_str_t){ person.scopes, strlen(person.scopes) }), "files:read");
    login_is_over(0);
    says(first, "who", "ada|files:read|4102444800");
    second = open_client(oauth);
    says(second, "who", "ada|files:read|4102444800");
    CHECK(issuer.logins == 1);
    person.deed = ANSWER_LATER;
    says(second, "write", "done");
    CHECK(pthread_join(person.thread, NULL) == 0);
    CHECK(issuer.logins == 2 && strstr(person.scopes, "files:write") != NULL && strstr(person.scopes, "files:read") != NULL);
    login_is_over(1);
    person.deed = ANSWER;
    says(first, "write", "done");
    CHECK(issuer.logins == 2);
    says(first, "picky", "picked");
    CHECK(issuer.logins == 3);
    login_is_over(0);
    /* Tokens that are good no more are renewed without anybody being asked. */
    resource.revoked = issuer.granted;
    says(second, "who", "ada|files:any files:read files:write|4102444800");
    CHECK(issuer.logins == 3 && issuer.refreshes == 1);
    mcplink_client_free(first);
    mcplink_client_free(second);
    mcplink_oauth_free(oauth);
}

/* Settings that were changed are others: clients that have the old ones keep them. */
static void changed_settings(void)
{
    mcplink_oauth_t *oauth = visited(ANSWER);
    mcplink_client_t *old = open_client(oauth), *new;
    login_is_over(0);
    CHECK(mcplink_oauth_set_scopes(oauth, "files:read  files:write") == MCPLINK_OK);
    CHECK(mcplink_oauth_set_offline_access(oauth, false) == MCPLINK_OK);
    CHECK(mcplink_oauth_set_authorization_param(oauth, "access_type", "online") == MCPLINK_OK);
    CHECK(mcplink_oauth_set_authorization_param(oauth, "access_type", "offline") == MCPLINK_OK);
    new = open_client(oauth);
    CHECK(issuer.logins == 2 && strcmp(person.scopes, "files:read files:write") == 0);
    CHECK(strstr(person.url, "&access_type=offline") != NULL && strstr(person.url, "online") == NULL);
    login_is_over(0);
    mcplink_oauth_free(oauth);
    says(old, "who", "ada|files:read|4102444800");
    says(new, "write", "done");
    CHECK(issuer.logins == 2);
    mcplink_client_free(old);
    mcplink_client_free(new);
    /* A parameter of the library's own stays. */
    oauth = visited(ANSWER);
    CHECK(mcplink_oauth_set_authorization_param(oauth, "state", "x") == MCPLINK_OK);
    CHECK(strstr(fails(oauth, MCPLINK_E_INVALID, ""), "mcplink_oauth_set_authorization_param") != NULL);
    mcplink_oauth_free(oauth);
    REFUSES(oauth, mcplink_oauth_new(), mcplink_oauth_set_authorization_param(it, "hd", NULL));
}

static void refused_logins(void)
{
    mcplink_oauth_t *oauth = visited(ANSWER);
    issuer.refuses_login = "access_denied";
    CHECK(strstr(fails(oauth, MCPLINK_E_AUTH, "access_denied"), "access_denied: no") != NULL);
    login_is_over(0);
    issuer.refuses_login = NULL, issuer.refuses_token = "invalid_grant";
    fails(oauth, MCPLINK_E_AUTH, "invalid_grant");
    login_is_over(0);
    issuer.refuses_token = NULL;
    person.deed = REFUSE;
    CHECK(strstr(fails(oauth, MCPLINK_E_AUTH, ""), "no time today") != NULL);
    login_is_over(0);
    person.deed = NOTHING;
    CHECK(strstr(fails(oauth, MCPLINK_E_AUTH, ""), "neither answered") != NULL);
    login_is_over(0);
    person.deed = KEEP_AND_LET_GO;
    CHECK(strstr(fails(oauth, MCPLINK_E_AUTH, ""), "neither answered") != NULL);
    login_is_over(0);
    /* Nobody comes back in time. */
    person.deed = KEEP;
    CHECK(mcplink_oauth_set_login_timeout_ms(oauth, 300) == MCPLINK_OK);
    CHECK(strstr(fails(oauth, MCPLINK_E_TIMEOUT, ""), "login_timeout") != NULL);
    login_is_over(1);
    CHECK(mcplink_login_is_done(person.kept) && mcplink_login_refuse(person.kept, NULL) == MCPLINK_E_STATE);
    /* What is over is told at once. */
    CHECK(mcplink_login_on_done(person.kept, on_over, &one, count_end) == MCPLINK_OK && person.overs == 1);
    ENDED(1);
    person.overs = 0;
    mcplink_login_free(person.kept);
    mcplink_oauth_free(oauth);
}

static mcplink_cancel_t *escape;

static void *cancels(void *unused)
{
    (void)unused;
    UNTIL(person.returned == 1);
    mcplink_cancel_trigger(escape);
    return NULL;
}

/* Whoever waits for a login can stop doing so, and then it is over. */
static void cancelled_logins(void)
{
    mcplink_oauth_t *oauth = visited(KEEP);
    mcplink_client_options_t *o = options_of(oauth);
    mcplink_client_t *c = NULL;
    mcplink_error_t *err = NULL;
    pthread_t thread;
    escape = mcplink_cancel_new();
    CHECK(mcplink_client_options_set_cancel(o, escape) == MCPLINK_OK);
    CHECK(pthread_create(&thread, NULL, cancels, NULL) == 0);
    CHECK_STATUS(mcplink_client_open(o, &c, &err), MCPLINK_E_CANCELLED, err);
    pthread_join(thread, NULL);
    login_is_over(1);
    CHECK(mcplink_login_is_done(person.kept) && mcplink_login_answer(person.kept, REDIRECT, MCPLINK_NUL) == MCPLINK_E_INVALID);
    CHECK(mcplink_login_refuse(person.kept, NULL) == MCPLINK_E_STATE);
    mcplink_login_free(person.kept);
    mcplink_cancel_free(escape);
    CHECK(mcplink_client_options_set_cancel(o, NULL) == MCPLINK_OK);

    /* A client that is freed meanwhile. */
    CHECK_STATUS(mcplink_client_start(o, &c, &err), MCPLINK_OK, err);
    UNTIL(person.returned == 1);
    mcplink_client_free(c);
    login_is_over(1);
    mcplink_login_free(person.kept);

    /* The last one to have the settings waits for the function that runs. */
    person.deed = WAIT_INSIDE;
    mcplink_oauth_free(oauth);
    CHECK_STATUS(mcplink_client_start(o, &c, &err), MCPLINK_OK, err);
    mcplink_client_options_free(o);
    UNTIL(person.visits == 1);
    CHECK(person.returned == 0);
    mcplink_client_free(c);
    CHECK(person.returned == 1 && person.overs == 1);
    login_is_over(1);
}

static mcplink_client_t *freed_inside;

static void visit_and_free(void *user, mcplink_login_t *login)
{
    (void)login;
    mcplink_client_free(freed_inside);
    ++*(atomic_int *)user;
}

/* A client that is freed by the function that it waits for. */
static void freed_in_a_visit(void)
{
    atomic_int visits = 0;
    mcplink_oauth_t *oauth = mcplink_oauth_new();
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_error_t *err = NULL;
    CHECK(mcplink_oauth_set_user_agent(oauth, REDIRECT, visit_and_free, &visits, NULL) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_url(o, resource.url) == MCPLINK_OK && mcplink_client_options_set_oauth(o, oauth) == MCPLINK_OK);
    mcplink_oauth_free(oauth);
    issuer_forget();
    CHECK_STATUS(mcplink_client_start(o, &freed_inside, &err), MCPLINK_OK, err);
    mcplink_client_options_free(o);
    UNTIL(visits == 1);
}

/* Where tokens are kept: an array of names and texts. */
static struct {
    pthread_mutex_t lock;
    char names[8][256], texts[8][4096];
    int fails;
    atomic_int loads, saves, removes;
} shelf = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int place_of(const char *name)
{
    int i;
    for (i = 0; i < 8; i++)
        if (strcmp(shelf.names[i], name) == 0) return i;
    return -1;
}

static mcplink_status_t load(void *user, mcplink_str_t name, mcplink_output_t *content)
{
    int at;
    CHECK(*(int *)user == 1 && name.ptr[name.len] == 0);
    shelf.loads++;
    if (shelf.fails) return MCPLINK_E_USER;
    pthread_mutex_lock(&shelf.lock);
    at = place_of(name.ptr);
    if (at >= 0) CHECK(mcplink_output_set(content, shelf.texts[at], MCPLINK_NUL) == MCPLINK_OK);
    pthread_mutex_unlock(&shelf.lock);
    return MCPLINK_OK;
}

static mcplink_status_t save(void *user, mcplink_str_t name, mcplink_str_t content)
{
    int at;
    CHECK(*(int *)user == 1 && name.len < sizeof shelf.names[0] && content.len < sizeof shelf.texts[0] && content.ptr[content.len] == 0);
    shelf.saves++;
    pthread_mutex_lock(&shelf.lock);
    at = place_of(name.ptr);
    if (at < 0) at = place_of("");
    CHECK(at >= 0);
    strcpy(shelf.names[at], name.ptr);
    strcpy(shelf.texts[at], content.ptr);
    pthread_mutex_unlock(&shelf.lock);
    return MCPLINK_OK;
}

static mcplink_status_t take_away(void *user, mcplink_str_t name)
{
    int at;
    CHECK(*(int *)user == 1);
    shelf.removes++;
    pthread_mutex_lock(&shelf.lock);
    at = place_of(name.ptr);
    if (at >= 0) shelf.names[at][0] = 0;
    pthread_mutex_unlock(&shelf.lock);
    return MCPLINK_OK;
}

static void on_log(void *user, mcplink_log_level level, mcplink_str_t target, mcplink_str_t text)
{
    (void)level, (void)text;
    CHECK_TEXT(target, "auth");
    ++*(atomic_int *)user;
}

static void empty(const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    CHECK(dir != NULL);
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] != '.') CHECK(unlinkat(dirfd(dir), entry->d_name, 0) == 0);
    }
    closedir(dir);
}

static void stores(void)
{
    char folder[] = "/tmp/mcplink-auth-XXXXXX";
    atomic_int lines = 0;
    mcplink_oauth_t *oauth = visited(ANSWER), *again;
    mcplink_client_t *c;
    mcplink_error_t *err = NULL;
    REFUSES(oauth, mcplink_oauth_new(), mcplink_oauth_set_store(it, load, NULL, take_away, &one, count_end));
    ENDED(1);
    CHECK(mcplink_oauth_set_store(oauth, load, save, take_away, &one, NULL) == MCPLINK_OK);
    CHECK(mcplink_oauth_on_log(oauth, MCPLINK_LOG_DEBUG, on_log, &lines, NULL) == MCPLINK_OK);
    c = open_client(oauth);
    login_is_over(0);
    mcplink_client_free(c);
    mcplink_oauth_free(oauth);
    CHECK(shelf.loads > 0 && shelf.saves >= 2 && shelf.removes == 0);

    /* The next time nobody is asked, until the tokens are forgotten. */
    oauth = visited(ANSWER);
    CHECK(mcplink_oauth_set_store(oauth, load, save, take_away, &one, NULL) == MCPLINK_OK);
    c = open_client(oauth);
    CHECK(issuer.logins == 0 && person.visits == 0);
    CHECK(mcplink_oauth_forget(oauth, NULL, NULL) == MCPLINK_E_INVALID && mcplink_oauth_forget(oauth, "no address", NULL) < 0);
    CHECK_STATUS(mcplink_oauth_forget(oauth, resource.url, &err), MCPLINK_OK, err);
    CHECK(shelf.removes == 1);
    says(c, "who", "ada|files:read|4102444800");
    CHECK(issuer.logins == 1 && issuer.registrations == 0);
    login_is_over(0);
    mcplink_client_free(c);

    shelf.fails = 1;
    again = visited(ANSWER);
    CHECK(mcplink_oauth_set_store(again, load, save, take_away, &one, NULL) == MCPLINK_OK);
    CHECK(strstr(fails(again, MCPLINK_E_AUTH, ""), "loads tokens returned -17") != NULL);
    mcplink_oauth_free(again), mcplink_oauth_free(oauth);
    shelf.fails = 0;

    CHECK(mkdtemp(folder) != NULL);
    for (int round = 0; round < 2; round++) {
        oauth = visited(ANSWER);
        CHECK(mcplink_oauth_set_store_folder(oauth, folder) == MCPLINK_OK);
        c = open_client(oauth);
        CHECK(issuer.logins == (round == 0));
        if (round == 0) login_is_over(0);
        mcplink_client_free(c);
        mcplink_oauth_free(oauth);
    }
    CHECK(chmod(folder, 0777) == 0);
    oauth = visited(ANSWER);
    CHECK(mcplink_oauth_set_store_folder(oauth, folder) == MCPLINK_OK);
    CHECK(strstr(fails(oauth, MCPLINK_E_INVALID, ""), folder) != NULL);
    mcplink_oauth_free(oauth);
    empty(folder);
    CHECK(rmdir(folder) == 0);
    CHECK(lines == 0);
}

/* The library listens for where a login leads. This program is the browser, too: see main. */
static struct {
    mcplink_login_t *kept;
    atomic_int shown;
    int follows;
} shown;

static void *browses(void *login)
{
    char target[1024], page[4096];
    follow(mcplink_login_url(login).ptr, target, sizeof target);
    get_page(target, page, sizeof page);
    CHECK(strstr(page, "<p>Thank you</p>") != NULL);
    return NULL;
}

static void show(void *user, mcplink_login_t *login)
{
    CHECK(*(int *)user == 1);
    shown.shown++;
    shown.kept = mcplink_login_keep(login);
    /* It is not the host's to answer. */
    CHECK(mcplink_login_answer(login, REDIRECT, MCPLINK_NUL) == MCPLINK_E_STATE && mcplink_login_refuse(login, NULL) == MCPLINK_E_STATE);
    CHECK(mcplink_login_on_done(login, on_over, &one, count_end) == MCPLINK_OK);
    if (shown.follows) CHECK(pthread_create(&person.thread, NULL, browses, shown.kept) == 0);
}

static void browsers(void)
{
    mcplink_oauth_t *oauth = mcplink_oauth_new();
    mcplink_client_t *c;
    issuer_forget();
    REFUSES(oauth, mcplink_oauth_new(), mcplink_oauth_set_browser(it, 0, "", NULL, NULL, &one, count_end));
    ENDED(1);
    CHECK(mcplink_oauth_set_browser(oauth, 0, self(), NULL, NULL, NULL, NULL) == MCPLINK_OK);
    c = open_client(oauth);
    CHECK(issuer.logins == 1);
    mcplink_client_free(c);
    UNTIL(!has_children());

    /* Host and path of the redirect URI can be chosen, before or after the browser. */
    CHECK(mcplink_oauth_set_redirect(oauth, "localhost", "/oauth/done") == MCPLINK_OK);
    issuer_forget();
    c = open_client(oauth);
    CHECK(strncmp(issuer.redirect, "http://localhost:", 17) == 0);
    CHECK(strstr(issuer.redirect, "/oauth/done") != NULL);
    mcplink_client_free(c);
    UNTIL(!has_children());
    CHECK(mcplink_oauth_set_redirect(oauth, "example.com", NULL) == MCPLINK_OK);
    CHECK(strstr(fails(oauth, MCPLINK_E_INVALID, ""), "'example.com'") != NULL);
    CHECK(mcplink_oauth_set_redirect(oauth, NULL, "done") == MCPLINK_OK);
    CHECK(strstr(fails(oauth, MCPLINK_E_INVALID, ""), "'done'") != NULL);
    REFUSES(oauth, mcplink_oauth_new(), mcplink_oauth_set_redirect(it, "\xff", NULL));
    CHECK(mcplink_oauth_set_redirect(NULL, NULL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_oauth_set_redirect(oauth, NULL, NULL) == MCPLINK_OK);
    issuer_forget();
    CHECK(mcplink_oauth_set_browser(oauth, 0, self(), NULL, NULL, NULL, NULL) == MCPLINK_OK);
    c = open_client(oauth);
    mcplink_client_free(c);
    UNTIL(!has_children());

    shown.follows = 1;
    CHECK(mcplink_oauth_set_browser(oauth, 0, "", "<p>Thank you</p>", show, &one, NULL) == MCPLINK_OK);
    c = open_client(oauth);
    pthread_join(person.thread, NULL);
    CHECK(issuer.logins == 2 && shown.shown == 1);
    login_is_over(1);
    CHECK(mcplink_login_is_done(shown.kept));
    mcplink_login_free(shown.kept);
    mcplink_client_free(c);

    /* A browser that is not there is an error only when nobody was told. */
    shown.follows = 1;
    CHECK(mcplink_oauth_set_browser(oauth, 0, "/nowhere/browser", "<p>Thank you</p>", show, &one, NULL) == MCPLINK_OK);
    c = open_client(oauth);
    pthread_join(person.thread, NULL);
    login_is_over(1);
    mcplink_login_free(shown.kept);
    mcplink_client_free(c);
    CHECK(mcplink_oauth_set_browser(oauth, 0, "/nowhere/browser", NULL, NULL, NULL, NULL) == MCPLINK_OK);
    /* Under valgrind nobody learns that a program is not there. */
    if (getenv("MCPLINK_VALGRIND") == NULL) CHECK(strstr(fails(oauth, MCPLINK_E_IO, ""), "/nowhere/browser") != NULL);
    mcplink_oauth_free(oauth);
}

/* What is made for tests only. */
static const char key[] = "-----BEGIN PRIVATE KEY-----\n"
                          "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQggZhwjfOkvDF2TBcb\n"
                          "4KsgMoRPQIjo9+pA5G7U5NxLauqhRANCAATsKn6kL92Zz3WSUgrRN+fAjLHl8KxO\n"
                          "g81082V1B9fZUCs1m6MJwKe60eBZ3JHaHmUGtw5sU9k1fi+Sjs4J7Q/9\n"
                          "-----END PRIVATE KEY-----\n";

static void machines(void)
{
    mcplink_oauth_t *oauth = mcplink_oauth_new();
    mcplink_oauth_client_t *me = mcplink_oauth_client_new(issuer.url, "me"), *elsewhere = mcplink_oauth_client_new("https://other.example", "me");
    mcplink_client_t *c;
    issuer_forget();
    CHECK(mcplink_oauth_client_new(NULL, NULL) == NULL);
    CHECK(mcplink_oauth_set_client_credentials(oauth) == MCPLINK_OK);
    CHECK(strstr(fails(oauth, MCPLINK_E_INVALID, ""), "mcplink_oauth_add_client") != NULL);
    CHECK(mcplink_oauth_client_set_secret(me, "s3cret") == MCPLINK_OK);
    CHECK(mcplink_oauth_add_client(oauth, me) == MCPLINK_OK);
    REFUSES(oauth, mcplink_oauth_new(), mcplink_oauth_add_client(it, NULL));
    c = open_client(oauth);
    CHECK(issuer.logins == 0 && issuer.secrets == 1 && strcmp(issuer.grant, "client_credentials") == 0);
    mcplink_client_free(c);
    mcplink_oauth_free(oauth);

    /* A key, and tokens that are bound to one, which this server has no use for. */
    oauth = mcplink_oauth_new();
    REFUSES(oauth_client, mcplink_oauth_client_new("https://login.example", "me"), mcplink_oauth_client_set_key(it, "no key", MCPLINK_NUL, NULL, false));
    CHECK(mcplink_oauth_client_set_key(me, key, MCPLINK_NUL, "test", false) == MCPLINK_OK);
    CHECK(mcplink_oauth_client_set_audience(me, "https://login.example/token") == MCPLINK_OK);
    CHECK(mcplink_oauth_set_client_credentials(oauth) == MCPLINK_OK && mcplink_oauth_add_client(oauth, me) == MCPLINK_OK);
    c = open_client(oauth);
    CHECK(issuer.assertions == 1 && issuer.proofs == 0);
    mcplink_client_free(c);
    REFUSES(oauth, mcplink_oauth_new(), mcplink_oauth_set_dpop(it, 9));
    CHECK(mcplink_oauth_set_dpop(oauth, MCPLINK_DPOP_ALWAYS) == MCPLINK_OK);
    fails(oauth, MCPLINK_E_AUTH, "");
    CHECK(issuer.assertions >= 2 && issuer.proofs >= 1);
    mcplink_oauth_free(oauth);

    /* Credentials go where they belong and nowhere else. */
    oauth = visited(ANSWER);
    CHECK(mcplink_oauth_client_set_secret(elsewhere, "s3cret") == MCPLINK_OK && mcplink_oauth_add_client(oauth, elsewhere) == MCPLINK_OK);
    CHECK(strstr(fails(oauth, MCPLINK_E_AUTH, ""), "https://other.example") != NULL);
    CHECK(issuer.secrets == 0 && person.visits == 0);
    mcplink_oauth_free(oauth);
    oauth = visited(ANSWER);
    CHECK(mcplink_oauth_set_client_document(oauth, "http://not.https/x") == MCPLINK_OK);
    CHECK(strstr(fails(oauth, MCPLINK_E_INVALID, ""), "https") != NULL);
    CHECK(mcplink_oauth_set_client_document(oauth, NULL) == MCPLINK_OK && mcplink_oauth_set_proxy(oauth, "nonsense://") == MCPLINK_OK);
    CHECK(strstr(fails(oauth, MCPLINK_E_INVALID, ""), "proxy") != NULL);
    mcplink_oauth_free(oauth);
    mcplink_oauth_client_free(me), mcplink_oauth_client_free(elsewhere);
}

/* JSON as a part of a signed text; what is signed is nobody's business here. */
static void part(char *text, const char *json)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t len = strlen(json), i, at = 0;
    for (i = 0; i < len; i += 3) {
        unsigned long group = (unsigned long)(unsigned char)json[i] << 16;
        size_t left = len - i;
        if (left > 1) group |= (unsigned long)(unsigned char)json[i + 1] << 8;
        if (left > 2) group |= (unsigned char)json[i + 2];
        text[at++] = letters[group >> 18 & 63], text[at++] = letters[group >> 12 & 63];
        if (left > 1) text[at++] = letters[group >> 6 & 63];
        if (left > 2) text[at++] = letters[group & 63];
    }
    text[at] = 0;
}

static mcplink_status_t state_it(void *user, mcplink_str_t audience, mcplink_output_t *token)
{
    char claims[256], header[64], body[400], text[512];
    CHECK(strncmp(audience.ptr, issuer.url, strlen(issuer.url)) == 0);
    if (*(int *)user != 1) return MCPLINK_E_USER;
    snprintf(claims, sizeof claims, "{\"iss\":\"p\",\"sub\":\"w\",\"aud\":\"%s\",\"exp\":4102444800,\"iat\":1,\"jti\":\"1\"}", audience.ptr);
    part(header, "{\"alg\":\"ES256\"}"), part(body, claims);
    snprintf(text, sizeof text, "%s.%s.c2ln", header, body);
    return mcplink_output_set(token, text, MCPLINK_NUL);
}

static mcplink_status_t sign_on(void *user, mcplink_output_t *token)
{
    return *(int *)user == 1 ? mcplink_output_set(token, "id-token", MCPLINK_NUL) : MCPLINK_OK;
}

static void workloads_and_organisations(void)
{
    char exchange[128];
    mcplink_oauth_t *oauth = mcplink_oauth_new();
    mcplink_oauth_client_t *me = mcplink_oauth_client_new(issuer.url, "me"), *at_provider = mcplink_oauth_client_new("https://idp.example", "us");
    mcplink_client_t *c;
    issuer_forget();
    REFUSES(oauth, mcplink_oauth_new(), mcplink_oauth_set_workload(it, "me", NULL, &one, count_end));
    ENDED(1);
    CHECK(mcplink_oauth_set_workload(oauth, "me", state_it, &ten, count_end) == MCPLINK_OK);
    CHECK(strstr(fails(oauth, MCPLINK_E_AUTH, ""), "returned -17") != NULL);
    CHECK(mcplink_oauth_set_workload(oauth, "me", state_it, &one, count_end) == MCPLINK_OK);
    ENDED(10);
    c = open_client(oauth);
    CHECK(issuer.logins == 0 && strstr(issuer.grant, "jwt-bearer") != NULL && strstr(issuer.assertion, ".c2ln") != NULL);
    mcplink_client_free(c);

    issuer_forget();
    snprintf(exchange, sizeof exchange, "%s/token", issuer.url);
    CHECK(mcplink_oauth_client_set_secret(me, "s3cret") == MCPLINK_OK && mcplink_oauth_add_client(oauth, me) == MCPLINK_OK);
    REFUSES(oauth, mcplink_oauth_new(), mcplink_oauth_set_enterprise(it, exchange, at_provider, 9, sign_on, &one, NULL));
    REFUSES(oauth, mcplink_oauth_new(), mcplink_oauth_set_enterprise(it, exchange, NULL, MCPLINK_SUBJECT_ID_TOKEN, sign_on, &one, NULL));
    CHECK(mcplink_oauth_set_enterprise(oauth, exchange, at_provider, MCPLINK_SUBJECT_ID_TOKEN, sign_on, &ten, count_end) == MCPLINK_OK);
    ENDED(1);
    CHECK(strstr(fails(oauth, MCPLINK_E_AUTH, ""), "mcplink_output_set") != NULL);
    CHECK(mcplink_oauth_set_enterprise(oauth, exchange, at_provider, MCPLINK_SUBJECT_ID_TOKEN, sign_on, &one, count_end) == MCPLINK_OK);
    ENDED(10);
    c = open_client(oauth);
    CHECK(issuer.tokens == 2 && issuer.secrets == 1 && strcmp(issuer.assertion, "jag") == 0);
    mcplink_client_free(c);
    mcplink_oauth_free(oauth);
    ENDED(1);
    mcplink_oauth_client_free(me), mcplink_oauth_client_free(at_provider);
}

/* What a key does that the host holds. */
static struct {
    mcplink_status_t status;
    const char *signature;
    atomic_int signs;
} device;

static mcplink_status_t sign(void *user, const void *data, size_t len, mcplink_output_t *signature)
{
    CHECK(*(int *)user == 10 && len > 10 && memchr(data, '.', len) != NULL);
    device.signs++;
    if (device.signature) CHECK(mcplink_output_set(signature, device.signature, MCPLINK_NUL) == MCPLINK_OK);
    return device.status;
}

/* Whether a signed text ends with the signature of the device; how long its header is. */
static size_t signed_by_device(const char *text)
{
    char expected[64];
    const char *last = strrchr(text, '.');
    part(expected, device.signature);
    CHECK(last != NULL && strcmp(last + 1, expected) == 0);
    return strcspn(text, ".");
}

#define ME mcplink_oauth_client_new("https://login.example", "me")
#define JWK "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"eA\",\"y\":\"eQ\"}"

/* Keys that only sign. */
static void devices(void)
{
    mcplink_oauth_t *oauth;
    mcplink_oauth_client_t *me = mcplink_oauth_client_new(issuer.url, "me");
    mcplink_client_t *c;
    size_t without_id;
    issuer_forget();
    device.status = MCPLINK_OK, device.signature = "\xffsigned";
    REFUSES(oauth_client, ME, mcplink_oauth_client_set_signer(it, "ES256", NULL, NULL, &one, count_end));
    REFUSES(oauth_client, ME, mcplink_oauth_client_set_signer(it, " ", NULL, sign, &one, count_end));
    REFUSES(oauth_client, ME, mcplink_oauth_client_set_signer(it, "HS256", NULL, sign, &one, count_end));
    REFUSES(oauth, mcplink_oauth_new(), mcplink_oauth_set_dpop_signer(it, "ES256", JWK, MCPLINK_NUL, NULL, &one, count_end));
    REFUSES(oauth, mcplink_oauth_new(), mcplink_oauth_set_dpop_signer(it, "none", JWK, MCPLINK_NUL, sign, &one, count_end));
    REFUSES(oauth, mcplink_oauth_new(), mcplink_oauth_set_dpop_signer(it, "ES256", NULL, 0, sign, &one, count_end));
    REFUSES(oauth, mcplink_oauth_new(), mcplink_oauth_set_dpop_signer(it, "ES256", "[]", MCPLINK_NUL, sign, &one, count_end));
    REFUSES(oauth, mcplink_oauth_new(), mcplink_oauth_set_dpop_signer(it, "ES256", "{}", MCPLINK_NUL, sign, &one, count_end));
    REFUSES(oauth, mcplink_oauth_new(), mcplink_oauth_set_dpop_signer(it, "ES256", "{\"kty\":\"EC\",\"d\":\"secret\"}", MCPLINK_NUL, sign, &one, count_end));
    ENDED(9);

    /* The client. */
    oauth = mcplink_oauth_new();
    CHECK(mcplink_oauth_client_set_signer(me, "ES256", NULL, sign, &one, count_end) == MCPLINK_OK);
    CHECK(mcplink_oauth_client_set_signer(me, "ES256", NULL, sign, &ten, count_end) == MCPLINK_OK);
    ENDED(1);
    CHECK(mcplink_oauth_set_client_credentials(oauth) == MCPLINK_OK && mcplink_oauth_add_client(oauth, me) == MCPLINK_OK);
    c = open_client(oauth);
    CHECK(device.signs == 1 && issuer.assertions == 1 && issuer.secrets == 0);
    without_id = signed_by_device(issuer.client_assertion);
    mcplink_client_free(c);
    /* The settings have a copy. */
    CHECK(mcplink_oauth_client_set_secret(me, "s3cret") == MCPLINK_OK);
    ENDED(0);
    mcplink_oauth_free(oauth);
    ENDED(10);

    oauth = mcplink_oauth_new();
    CHECK(mcplink_oauth_client_set_signer(me, "ES256", "key 1", sign, &ten, count_end) == MCPLINK_OK);
    CHECK(mcplink_oauth_set_client_credentials(oauth) == MCPLINK_OK && mcplink_oauth_add_client(oauth, me) == MCPLINK_OK);
    mcplink_oauth_client_free(me);
    device.status = MCPLINK_E_USER;
    CHECK(strstr(fails(oauth, MCPLINK_E_AUTH, ""), "that signs returned -17") != NULL);
    device.status = MCPLINK_PENDING;
    CHECK(strstr(fails(oauth, MCPLINK_E_AUTH, ""), "that signs returned 2") != NULL);
    device.status = MCPLINK_OK, device.signature = NULL;
    CHECK(strstr(fails(oauth, MCPLINK_E_AUTH, ""), "mcplink_output_set") != NULL);
    device.signature = "";
    CHECK(strstr(fails(oauth, MCPLINK_E_AUTH, ""), "mcplink_output_set") != NULL);
    CHECK(issuer.assertions == 1);
    device.signature = "signed";
    c = open_client(oauth);
    CHECK(issuer.assertions == 2 && signed_by_device(issuer.client_assertion) > without_id);
    mcplink_client_free(c);
    ENDED(0);

    /* Tokens that are bound to a key, which this server has no use for. */
    issuer_forget();
    CHECK(mcplink_oauth_set_dpop_signer(oauth, "ES256", JWK, MCPLINK_NUL, sign, &one, count_end) == MCPLINK_OK);
    CHECK(mcplink_oauth_set_dpop_signer(oauth, "ES384", JWK, strlen(JWK), sign, &ten, count_end) == MCPLINK_OK);
    ENDED(1);
    CHECK(mcplink_oauth_set_dpop(oauth, MCPLINK_DPOP_ALWAYS) == MCPLINK_OK);
    fails(oauth, MCPLINK_E_AUTH, "");
    CHECK(issuer.proofs >= 1);
    signed_by_device(issuer.proof);
    mcplink_oauth_free(oauth);
    ENDED(20);
}

/* What belongs to a function ends once, with the last one that has it. */
static void ends(void)
{
    mcplink_oauth_t *oauth = mcplink_oauth_new();
    mcplink_client_options_t *o;
    mcplink_client_t *c = NULL;
    mcplink_error_t *err = NULL;
    person.deed = ANSWER;
    issuer_forget();
    CHECK(mcplink_oauth_set_store(oauth, load, save, take_away, &one, count_end) == MCPLINK_OK);
    CHECK(mcplink_oauth_on_log(oauth, MCPLINK_LOG_DEBUG, on_log, &one, count_end) == MCPLINK_OK);
    CHECK(mcplink_oauth_set_user_agent(oauth, REDIRECT, visit, &ten, count_end) == MCPLINK_OK);
    o = options_of(oauth);
    mcplink_oauth_free(oauth);
    CHECK_STATUS(mcplink_client_open(o, &c, &err), MCPLINK_OK, err);
    ENDED(0);
    mcplink_client_options_free(o);
    says(c, "who", "ada|files:read|4102444800");
    ENDED(0);
    mcplink_client_free(c);
    ENDED(12);
    /* Another way of getting tokens takes its place. */
    oauth = mcplink_oauth_new();
    o = mcplink_client_options_new();
    CHECK(mcplink_oauth_set_user_agent(oauth, REDIRECT, visit, &one, count_end) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_oauth(o, oauth) == MCPLINK_OK);
    mcplink_oauth_free(oauth);
    ENDED(0);
    CHECK(mcplink_client_options_set_bearer(o, "token") == MCPLINK_OK);
    ENDED(1);
    mcplink_client_options_free(o);
}

int main(int argc, char **argv)
{
    state_t before;
    if (argc > 1) {
        /* As a browser. */
        char target[1024], page[4096];
        follow(argv[1], target, sizeof target);
        get_page(target, page, sizeof page);
        return strstr(page, "200 OK") == NULL;
    }
    state_take(&before);
    issuer_begin();
    resource_begin(count_end, &one);
    no_login_at_all();
    logins();
    changed_settings();
    refused_logins();
    cancelled_logins();
    freed_in_a_visit();
    stores();
    browsers();
    machines();
    workloads_and_organisations();
    devices();
    ends();
    ENDED(0);
    resource_end();
    ENDED(1);
    issuer_end();
    state_same(&before);
    return 0;
}
