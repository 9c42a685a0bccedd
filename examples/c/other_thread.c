/* A server whose handlers only queue requests. A thread of the program answers them, one after the
 * other. This suits programs whose data belong to one thread: a database, an engine. Start it with
 * any client: ./other_thread
 *
 * A kept responder occupies no thread of the library, so any number of requests may wait. */
#include <mcplink.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct job {
    struct job *next;
    mcplink_responder_t *resp;
};

/* The queue between the library's threads and the worker. The lock guards the list and is_over;
 * `changed` is signalled after each change of either, so the worker misses none. */
struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct job *first, **last;
    bool is_over;
};

/* Runs on a thread of the library: queues the request, and returns. */
static void note(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    struct queue *queue = user;
    struct job *job = malloc(sizeof *job);
    (void)req;
    if (job == NULL) return; /* The library answers with an error. */
    job->next = NULL;
    job->resp = mcplink_responder_keep(resp);
    pthread_mutex_lock(&queue->lock);
    *queue->last = job;
    queue->last = &job->next;
    pthread_cond_signal(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

/* Waits for the next job; returns NULL when the queue is empty and over. */
static struct job *next_job(struct queue *queue)
{
    struct job *job;
    pthread_mutex_lock(&queue->lock);
    while (queue->first == NULL && !queue->is_over) pthread_cond_wait(&queue->changed, &queue->lock);
    job = queue->first;
    if (job != NULL) {
        queue->first = job->next;
        if (queue->first == NULL) queue->last = &queue->first;
    }
    pthread_mutex_unlock(&queue->lock);
    return job;
}

/* The thread that owns the data: here a sum, which therefore needs no lock. */
static void *work(void *user)
{
    struct queue *queue = user;
    struct job *job;
    int64_t sum = 0;
    while ((job = next_job(queue)) != NULL) {
        const mcplink_request_t *req = mcplink_responder_request(job->resp);
        int64_t number;
        char line[64];
        if (mcplink_responder_is_cancelled(job->resp)) {
            /* The request was cancelled: no answer is needed. */
        } else if (mcplink_json_i64(mcplink_json_get(mcplink_request_args(req), "number"), &number)) {
            /* Unsigned arithmetic, because signed overflow is undefined in C. */
            sum = (int64_t)((uint64_t)sum + (uint64_t)number);
            snprintf(line, sizeof line, "the sum is %lld", (long long)sum);
            mcplink_responder_text(job->resp, line, MCPLINK_NUL);
        } else {
            mcplink_responder_tool_error(job->resp, "the argument 'number' has to be a whole number", MCPLINK_NUL);
        }
        mcplink_responder_free(job->resp);
        free(job);
    }
    return NULL;
}

int main(void)
{
    struct queue queue = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, &queue.first, false };
    mcplink_server_t *srv = mcplink_server_new("other_thread", "1.0");
    mcplink_tool_t *tool = mcplink_tool_new("add", "Adds a number to the sum");
    mcplink_error_t *err = NULL;
    mcplink_status_t st;
    pthread_t worker;
    mcplink_tool_add_param(tool, "number", MCPLINK_PARAM_INTEGER, MCPLINK_PARAM_REQUIRED, "What is added");
    st = mcplink_server_add_tool(srv, tool, note, &queue, NULL, &err);
    mcplink_tool_free(tool);
    if (st == MCPLINK_OK && pthread_create(&worker, NULL, work, &queue) == 0) {
        st = mcplink_server_serve_stdio(srv, &err);
        pthread_mutex_lock(&queue.lock);
        queue.is_over = true;
        pthread_cond_signal(&queue.changed);
        pthread_mutex_unlock(&queue.lock);
        pthread_join(worker, NULL);
    }
    if (st < 0) fprintf(stderr, "other_thread: %s\n", mcplink_error_message(err));
    mcplink_error_free(err);
    mcplink_server_free(srv);
    /* Requests that arrived after the worker ended are refused: freeing a responder answers with an
     * error. */
    while (queue.first != NULL) {
        struct job *job = next_job(&queue);
        mcplink_responder_free(job->resp);
        free(job);
    }
    return st < 0;
}
