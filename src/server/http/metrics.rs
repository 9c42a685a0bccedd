//! The statistics of an HTTP server in the text format of Prometheus.
//!
//! Source: Prometheus, "Exposition formats", text format 0.0.4; OpenMetrics, for the endings of
//! names.

use crate::transport::http::HttpStats;

/// A metric: its name without the prefix of this library, its help text, and its value.
type Metric = (&'static str, &'static str, u64);

/// Returns the metrics of a server. `sessions` is the number of open sessions.
pub(super) fn text(stats: &HttpStats, sessions: usize) -> String {
    let gauges = gauges(stats, sessions).map(|metric| ("gauge", metric));
    let counters = counters(stats).map(|metric| ("counter", metric));
    let mut text = String::new();
    for (kind, (name, help, value)) in gauges.into_iter().chain(counters) {
        let name = format!("mcplink_http_{name}");
        let lines = format!("# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n");
        text.push_str(&lines);
    }
    text
}

fn gauges(stats: &HttpStats, sessions: usize) -> [Metric; 8] {
    let metric = |name, help, value| (name, help, u64::try_from(value).unwrap_or(u64::MAX));
    [
        metric("connections", "Open connections.", stats.connections),
        metric(
            "idle_connections",
            "Connections without a request in flight.",
            stats.idle,
        ),
        metric(
            "waiting_connections",
            "Connections that wait for a thread.",
            stats.waiting,
        ),
        metric(
            "requests_in_flight",
            "Requests without a complete response.",
            stats.in_hand,
        ),
        metric(
            "streams",
            "Responses that are streams and have begun.",
            stats.streams,
        ),
        metric(
            "unsent_bytes",
            "Bytes that clients have not read yet.",
            stats.unsent,
        ),
        metric(
            "workers",
            "Threads that read requests and run handlers.",
            stats.workers,
        ),
        metric("sessions", "Open sessions of legacy clients.", sessions),
    ]
}

fn counters(stats: &HttpStats) -> [Metric; 5] {
    let (accepted, refused) = (stats.accepted, stats.refused);
    let (connections, requests) = (stats.displaced_connections, stats.displaced_requests);
    let sessions = stats.displaced_sessions;
    [
        (
            "accepted_connections_total",
            "Accepted connections.",
            accepted,
        ),
        (
            "refused_total",
            "Refused connections and requests.",
            refused,
        ),
        (
            "displaced_connections_total",
            "Idle connections closed to make space.",
            connections,
        ),
        (
            "displaced_requests_total",
            "Waiting requests refused to make space.",
            requests,
        ),
        (
            "displaced_sessions_total",
            "Idle sessions ended to make space.",
            sessions,
        ),
    ]
}
