/* Functions of a host that do as little as they may. */
#ifndef STUBS_H
#define STUBS_H

#include "check.h"

static inline mcplink_status_t on_fetch(void *user, mcplink_fetch_t *fetch) { return (void)user, mcplink_fetch_fail(fetch, NULL, false); }
static inline mcplink_status_t on_event_publish(void *user, mcplink_str_t event)
{
    (void)user, (void)event;
    return MCPLINK_OK;
}
static inline mcplink_status_t on_state_claim(void *user, mcplink_str_t who, mcplink_str_t id, uint64_t lifetime_ms, bool *is_first)
{
    (void)user, (void)who, (void)id, (void)lifetime_ms, *is_first = true;
    return MCPLINK_OK;
}
static inline mcplink_status_t on_record_read(void *user, mcplink_str_t key, mcplink_record_t *record)
{
    return (void)user, (void)key, (void)record, MCPLINK_OK;
}
static inline mcplink_status_t on_record_write(void *user, mcplink_str_t key, uint64_t version, const void *bytes, size_t len, uint64_t lifetime_ms,
                                               bool *is_written)
{
    return (void)user, (void)key, (void)version, (void)bytes, (void)len, (void)lifetime_ms, (void)is_written, MCPLINK_OK;
}
static inline mcplink_status_t on_record_remove(void *user, mcplink_str_t key) { return (void)user, (void)key, MCPLINK_OK; }
static inline mcplink_status_t on_schema_compile(void *user, mcplink_str_t schema, void **compiled, mcplink_output_t *reason)
{
    return (void)user, (void)schema, (void)compiled, (void)reason, MCPLINK_OK;
}
static inline mcplink_status_t on_schema_check(void *user, void *compiled, mcplink_str_t json, mcplink_output_t *fault)
{
    return (void)user, (void)compiled, (void)json, (void)fault, MCPLINK_OK;
}
static inline void on_schema_free(void *user, void *compiled) { (void)user, (void)compiled; }
static inline mcplink_status_t on_event_append(void *user, mcplink_str_t session, uint64_t stream, uint64_t number, const void *event, size_t len)
{
    return (void)user, (void)session, (void)stream, (void)number, (void)event, (void)len, MCPLINK_OK;
}
static inline mcplink_status_t on_event_replay(void *user, mcplink_str_t session, uint64_t stream, uint64_t after, mcplink_replay_t *replay)
{
    return (void)user, (void)session, (void)stream, (void)after, (void)replay, MCPLINK_OK;
}
static inline void on_event_forget(void *user, mcplink_str_t session, uint64_t stream) { (void)user, (void)session, (void)stream; }
static inline mcplink_status_t on_sign(void *user, const void *data, size_t len, mcplink_output_t *signature)
{
    return (void)user, (void)data, (void)len, mcplink_output_set(signature, "signed", MCPLINK_NUL);
}

#endif
