//! Checks of servers over HTTP: security, sessions and status codes.

use serde_json::json;

use super::wire::{Answer, Web, code_of};
use super::{Check, Conn, Seen, Server, Verdict, excerpt, excerpt_of, passed, skip};
use crate::args::Level;

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "http/origin",
        level: Level::Must,
        requirements: &["M-HTTP-S-02", "M-HTTP-S-03", "L-HTTP-S-02", "L-HTTP-S-03"],
        remedy: "answer status 403 to an Origin that is not allowed: else any web page can use the server",
        run: origin,
    },
    Check {
        name: "http/host",
        level: Level::Should,
        requirements: &["M-HTTP-S-36"],
        remedy: "refuse a Host that is not the server's own: else DNS rebinding lets a web page use it",
        run: host,
    },
    Check {
        name: "http/content-type",
        level: Level::Must,
        requirements: &["M-HTTP-S-13", "L-HTTP-S-12"],
        remedy: "answer a request with application/json or text/event-stream",
        run: content_type,
    },
    Check {
        name: "http/notification",
        level: Level::Must,
        requirements: &["M-HTTP-S-11", "L-HTTP-S-10"],
        remedy: "answer an accepted notification with status 202 and no body",
        run: notification,
    },
    Check {
        name: "http/get",
        level: Level::Must,
        requirements: &["L-HTTP-S-25"],
        remedy: "answer GET with an event stream or with status 405",
        run: get,
    },
    Check {
        name: "http/session-id",
        level: Level::Must,
        requirements: &["L-SESS-S-02", "L-SESS-S-14", "L-SESS-S-15"],
        remedy: "make session ids of visible ASCII, with a secure random generator, at least 128 bits",
        run: session_id,
    },
    Check {
        name: "http/unknown-session",
        level: Level::Must,
        requirements: &["L-SESS-S-06"],
        remedy: "answer status 404 to a session id that is unknown: the client then starts a new session",
        run: unknown_session,
    },
    Check {
        name: "http/missing-session",
        level: Level::Should,
        requirements: &["L-SESS-S-05"],
        remedy: "answer status 400 where a session id is required and missing",
        run: missing_session,
    },
    Check {
        name: "http/ended-session",
        level: Level::Must,
        requirements: &["L-SESS-S-06"],
        remedy: "answer status 404 to a session that DELETE has ended, or refuse DELETE with 405",
        run: ended_session,
    },
    Check {
        name: "http/version-header",
        level: Level::Must,
        requirements: &["M-HDR-S-03", "M-HDR-S-40"],
        remedy: "answer status 400 and error -32020 where MCP-Protocol-Version is not the revision in _meta",
        run: version_header,
    },
    Check {
        name: "http/method-header",
        level: Level::Must,
        requirements: &["M-HDR-S-07", "M-HDR-S-41"],
        remedy: "answer status 400 and error -32020 where Mcp-Method is missing or not the method of the body",
        run: method_header,
    },
    Check {
        name: "http/unknown-method",
        level: Level::Must,
        requirements: &["M-HTTP-S-24"],
        remedy: "answer status 404 and error -32601 to an unknown method",
        run: unknown_method,
    },
];

/// Sends a request that every server answers, with header fields of its own.
fn probe(conn: &mut Conn, fields: &[(&str, &str)]) -> Result<Answer, Verdict> {
    let method = match conn.revision.is_modern() {
        true => "server/discover",
        false => "ping",
    };
    let id = conn.next_id();
    Ok(conn.post(&conn.message(&id, method, json!({})), fields)?)
}

fn each(server: &Server, check: impl Fn(&mut Conn) -> Seen) -> Seen {
    server.needs_web()?;
    server.each(check)
}

fn is_served(answer: &Answer) -> bool {
    answer
        .messages
        .iter()
        .any(|message| message.get("result").is_some())
}

fn origin(server: &Server) -> Seen {
    each(server, |conn| {
        let answer = probe(conn, &[("Origin", "https://attacker.example")])?;
        match answer.status {
            _ if is_served(&answer) => {
                Err("a request with Origin: https://attacker.example is served".into())
            }
            403 => passed(),
            status if conn.revision.as_str() >= "2025-11-25" => {
                Err(format!("a foreign Origin has status {status}, not 403").into())
            }
            status => Ok(format!("status {status}")),
        }
    })
}

fn host(server: &Server) -> Seen {
    if !server.needs_web()?.is_local() {
        return skip("the server is not on this machine");
    }
    each(server, |conn| {
        let answer = probe(conn, &[("Host", "attacker.example")])?;
        match is_served(&answer) {
            true => Err("a request with Host: attacker.example is served".into()),
            false => Ok(format!("status {}", answer.status)),
        }
    })
}

fn content_type(server: &Server) -> Seen {
    each(server, |conn| {
        let answer = probe(conn, &[])?;
        let kind = answer
            .content_type
            .split(';')
            .next()
            .unwrap_or_default()
            .trim();
        match kind {
            "application/json" | "text/event-stream" => Ok(kind.to_owned()),
            other => Err(format!("the content type is '{}'", excerpt(other)).into()),
        }
    })
}

fn notification(server: &Server) -> Seen {
    each(server, |conn| {
        if conn.revision.is_modern() {
            return skip("modern clients send no notifications over HTTP");
        }
        let message = json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" });
        let answer = conn.post(&message, &[])?;
        match (answer.status, answer.text.trim().is_empty()) {
            (202, true) => passed(),
            (202, false) => Err(format!("the body is {}", excerpt(&answer.text)).into()),
            (status, _) => Err(format!("the status is {status}, not 202").into()),
        }
    })
}

fn get(server: &Server) -> Seen {
    let mut conn = server.open(server.legacy()?)?;
    let Some(web) = conn.as_web().cloned() else {
        return skip("the server is not reached over HTTP");
    };
    let fields = [
        ("Accept".to_owned(), "text/event-stream".to_owned()),
        (
            "MCP-Protocol-Version".to_owned(),
            conn.revision.as_str().to_owned(),
        ),
    ];
    // A stream without events ends this request by its timeout, after its head.
    let patience = std::time::Duration::from_secs(1);
    let answer = web.send("GET", None, &fields, None, patience);
    conn.set_patience(server.patience);
    conn.close();
    let answer = answer?;
    match (
        answer.status,
        answer.content_type.starts_with("text/event-stream"),
    ) {
        (200, true) => Ok("an event stream".to_owned()),
        (405, _) => Ok("status 405".to_owned()),
        (status, _) => {
            let kind = excerpt(&answer.content_type);
            Err(format!("the status is {status}, the content type '{kind}'").into())
        }
    }
}

/// Opens a legacy session; skips where the server has none.
fn session(server: &Server) -> Result<(Conn, Web, String), Verdict> {
    server.needs_web()?;
    let conn = server.open(server.legacy()?)?;
    let web = conn.as_web().cloned();
    let web = web.ok_or("the server is not reached over HTTP")?;
    match web.session.clone() {
        Some(id) => Ok((conn, web, id)),
        None => skip("the server has no sessions"),
    }
}

fn session_id(server: &Server) -> Seen {
    let (one, _, first) = session(server)?;
    let (other, _, second) = session(server)?;
    one.close();
    other.close();
    for id in [&first, &second] {
        if !id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)) {
            return Err("a session id has other characters than visible ASCII".into());
        }
    }
    if first == second {
        return Err("two sessions have the same id".into());
    }
    // 128 bits are 22 characters of base64.
    let differing = first
        .bytes()
        .zip(second.bytes())
        .filter(|(one, other)| one != other);
    if first.len() < 22 || differing.count() < 8 {
        return Err("session ids can be guessed: they are short, or nearly the same".into());
    }
    Ok(format!("{} characters", first.len()))
}

/// Sends a ping with a session id; an empty one is left out.
fn ping_in(conn: &Conn, web: &Web, id: &str, server: &Server) -> Result<Answer, Verdict> {
    let fields = [
        ("Mcp-Session-Id".to_owned(), id.to_owned()),
        (
            "MCP-Protocol-Version".to_owned(),
            conn.revision.as_str().to_owned(),
        ),
    ];
    let body = json!({ "jsonrpc": "2.0", "id": "in", "method": "ping" }).to_string();
    let id = json!("in");
    Ok(web.send("POST", Some(&body), &fields, Some(&id), server.patience)?)
}

fn unknown_session(server: &Server) -> Seen {
    let (conn, web, id) = session(server)?;
    // As long as the server's own, and of the same characters.
    let other: String = id
        .chars()
        .rev()
        .map(|c| if c == '0' { '1' } else { '0' })
        .collect();
    let answer = ping_in(&conn, &web, &other, server)?;
    conn.close();
    match answer.status {
        _ if is_served(&answer) => Err("a request with an unknown session id is served".into()),
        404 => passed(),
        status => Err(format!("the status is {status}, not 404").into()),
    }
}

fn missing_session(server: &Server) -> Seen {
    let (conn, web, _) = session(server)?;
    let answer = ping_in(&conn, &web, "", server)?;
    conn.close();
    match answer.status {
        400 => passed(),
        status => Err(format!("the status is {status}, not 400").into()),
    }
}

fn ended_session(server: &Server) -> Seen {
    let (conn, web, id) = session(server)?;
    let version = (
        "MCP-Protocol-Version".to_owned(),
        conn.revision.as_str().to_owned(),
    );
    let answer = web.send("DELETE", None, &[version], None, server.patience)?;
    if answer.status == 405 {
        conn.close();
        return Ok("clients can't end sessions".to_owned());
    }
    if answer.status >= 300 {
        return Err(format!("DELETE has status {}", answer.status).into());
    }
    let answer = ping_in(&conn, &web, &id, server)?;
    match answer.status {
        404 => passed(),
        status => Err(format!("an ended session has status {status}, not 404").into()),
    }
}

/// Expects a refusal with status 400 and error -32020.
fn mismatch(what: &str, answer: &Answer) -> Result<(), Verdict> {
    let code = answer.messages.first().and_then(code_of);
    match (answer.status, code) {
        (400, Some(-32020)) => Ok(()),
        (status, Some(code)) => {
            Err(format!("{what}: status {status} and error {code}, not 400 and -32020").into())
        }
        (status, None) => {
            let text = excerpt(&answer.text);
            Err(format!("{what}: status {status}, not 400 and error -32020: {text}").into())
        }
    }
}

fn modern(server: &Server) -> Result<Conn, Verdict> {
    server.needs_web()?;
    server.connect(server.modern()?)
}

fn version_header(server: &Server) -> Seen {
    let mut conn = modern(server)?;
    let answer = probe(&mut conn, &[("MCP-Protocol-Version", "2025-11-25")])?;
    mismatch("another revision than in _meta", &answer)?;
    passed()
}

fn method_header(server: &Server) -> Seen {
    let mut conn = modern(server)?;
    let answer = probe(&mut conn, &[("Mcp-Method", "tools/call")])?;
    mismatch("another method than in the body", &answer)?;
    let answer = probe(&mut conn, &[("Mcp-Method", "")])?;
    mismatch("no Mcp-Method", &answer)?;
    passed()
}

fn unknown_method(server: &Server) -> Seen {
    let mut conn = modern(server)?;
    let id = conn.next_id();
    let message = conn.message(&id, "tests/no-such-method", json!({}));
    let answer = conn.post(&message, &[])?;
    let response = answer.messages.first();
    match (answer.status, response.and_then(code_of)) {
        (404, Some(-32601)) => passed(),
        (status, _) => {
            let seen = response.map(excerpt_of).unwrap_or_default();
            Err(format!("status {status}, not 404 and error -32601: {seen}").into())
        }
    }
}
