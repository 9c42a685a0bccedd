//! Tests of the library from outside, in one binary.
#![allow(
    clippy::unwrap_used,
    reason = "a test that can't go on is a test that fails"
)]

mod activity;
mod asking;
mod asking_ends;
mod asking_pages;
mod asking_rules;
mod asking_state;
#[cfg(feature = "auth")]
mod auth_browser;
#[cfg(feature = "auth")]
mod auth_discovery;
#[cfg(feature = "jwt")]
mod auth_dpop;
#[cfg(feature = "auth")]
mod auth_host_client;
#[cfg(feature = "jwt")]
mod auth_jwt;
#[cfg(feature = "auth")]
mod auth_login;
#[cfg(feature = "auth")]
mod auth_machine;
#[cfg(feature = "auth")]
mod auth_parallel;
#[cfg(feature = "auth")]
mod auth_params;
#[cfg(feature = "auth")]
mod auth_renewal;
#[cfg(feature = "auth")]
mod auth_roots;
#[cfg(feature = "auth")]
mod auth_secrets;
#[cfg(feature = "http-server")]
mod auth_server;
#[cfg(feature = "auth")]
mod auth_tokens;
#[cfg(feature = "auth")]
mod auth_tolerance;
#[cfg(feature = "auth")]
mod authworld;
mod client_asked;
mod client_cache;
mod client_calls;
mod client_cancelling;
#[cfg(unix)]
mod client_children;
mod client_config;
mod client_fallback;
mod client_group;
mod client_misfits;
mod client_odd_answers;
mod client_opening;
mod client_paging;
mod client_peers;
mod client_pending;
mod client_promises;
mod client_raw;
mod client_restart;
mod client_rounds;
mod client_skills;
mod client_subscriptions;
mod client_timeouts;
mod client_typed;
mod common;
mod derived;
mod durations;
mod engine_answers;
mod engine_calls;
mod engine_deadlocks;
mod engine_end;
mod engine_fuzz;
mod engine_odd_input;
mod engine_progress;
mod engine_threads;
mod engine_workers;
#[cfg(all(unix, feature = "auth", feature = "http-server"))] // Signals.
mod event_bus;
#[cfg(feature = "schemars")]
mod everything;
mod examples;
mod extensions;
mod faults;
mod forms;
#[cfg(all(feature = "tls", any(feature = "http-server", feature = "auth")))]
#[cfg_attr(
    not(feature = "http-server"),
    allow(dead_code, reason = "only some of it is used")
)]
mod front;
mod handler_errors;
mod held;
#[cfg(feature = "http-client")]
#[cfg_attr(
    not(feature = "auth"),
    allow(dead_code, reason = "names are of logins")
)]
mod hostclient;
#[cfg(all(feature = "http-client", feature = "http-server"))]
mod http_busy;
#[cfg(feature = "http-server")]
mod http_card;
#[cfg(feature = "http-client")]
mod http_client_authorizer;
#[cfg(feature = "http-client")]
mod http_client_calls;
#[cfg(feature = "http-client")]
mod http_client_eras;
#[cfg(feature = "http-client")]
mod http_client_fields;
#[cfg(feature = "http-client")]
mod http_client_lost_sessions;
#[cfg(feature = "http-client")]
mod http_client_params;
#[cfg(all(feature = "http-client", feature = "http-server"))]
mod http_client_server;
#[cfg(feature = "http-client")]
mod http_client_sessions;
#[cfg(feature = "http-client")]
mod http_client_settings;
#[cfg(feature = "http-client")]
mod http_client_streams;
#[cfg(all(feature = "tls", feature = "http-server"))]
mod http_client_tls;
#[cfg(feature = "http-server")]
mod http_cut_off;
#[cfg(feature = "http-server")]
mod http_events;
#[cfg(all(feature = "http-server", any(target_os = "linux", windows)))]
mod http_fairness;
#[cfg(feature = "http-client")]
mod http_host_client;
#[cfg(feature = "http-server")]
mod http_legacy;
#[cfg(feature = "http-server")]
mod http_limits;
#[cfg(feature = "http-server")]
mod http_listener_clients;
#[cfg(feature = "http-server")]
mod http_listener_ends;
#[cfg(feature = "http-server")]
mod http_listener_requests;
#[cfg(feature = "http-server")]
mod http_listener_responses;
#[cfg(all(feature = "http-server", target_os = "linux"))]
mod http_memory;
#[cfg(feature = "http-server")]
mod http_modern;
#[cfg(feature = "http-server")]
mod http_odd_clients;
#[cfg(feature = "http-server")]
mod http_pages;
#[cfg(feature = "http-server")]
mod http_server;
#[cfg(all(feature = "http-server", any(target_os = "linux", windows)))]
mod http_shares;
#[cfg(feature = "http-server")]
mod http_silence;
#[cfg(feature = "http-client")]
mod http_started;
#[cfg(feature = "http-server")]
mod http_status;
#[cfg(feature = "http-server")]
mod http_strict;
#[cfg(all(unix, feature = "http-client", feature = "http-server"))]
mod http_unix;
mod icons;
mod keep_alive;
#[cfg(feature = "http-server")]
mod list_changes;
#[cfg(feature = "http-server")]
mod listening;
#[cfg(unix)]
mod local_event_bus;
mod log_records;
mod own_transport;
mod panics;
mod played;
#[cfg(feature = "http-client")]
mod proxied;
mod published;
mod raw;
mod raw_results;
mod rawserver;
mod schema_examples;
mod schema_revisions;
mod scripted;
mod served_process;
mod server_addresses;
mod server_batches;
mod server_changes;
mod server_completion;
mod server_deferred;
mod server_events;
#[cfg(feature = "http-server")]
mod server_fairness;
#[cfg(unix)]
mod server_folder;
mod server_guards;
mod server_late_readers;
mod server_logging;
mod server_meta;
mod server_odd_clients;
mod server_opening;
mod server_paging;
mod server_progress;
#[cfg(all(feature = "http-client", feature = "http-server", feature = "jwt"))]
mod server_promises;
mod server_prompts;
mod server_rates;
mod server_resources;
mod server_results;
mod server_skills;
mod server_skills_changes;
mod server_skills_folder;
mod server_subscriptions;
mod server_tools;
mod server_writes;
mod shutdown;
mod skillserver;
mod skilltree;
mod stress;
#[cfg(feature = "http-client")]
mod stub;
mod tap;
mod tasks_client;
mod tasks_limits;
mod tasks_server;
mod tasks_shared;
mod threads;
mod trace;
mod trace_context;
mod transport;
mod typed;
#[cfg(feature = "validation")]
mod validation;
mod validation_client;
mod validation_server;
#[cfg(feature = "http-server")]
mod web;
