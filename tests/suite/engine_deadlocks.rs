//! What could lock up: two peers that both write, and callbacks that come back to the connection.

use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use mcplink::protocol::{CancelToken, Connection, Handlers, Peer, RequestOptions};
use mcplink::transport::{Limits, Stream, memory};
use mcplink::{ErrorKind, RpcError};
use serde_json::{Value, json};

use crate::common::{Gate, LONG, call_aside, play, within};
#[cfg(windows)]
use crate::common::{over, over_pipes, socket_pair};

type Kept = Arc<Mutex<Option<Connection>>>;

/// Two streams that are each other's peer, over pipes or sockets of the usual size.
#[cfg(windows)]
fn narrow(pipes: bool) -> (Stream, Stream) {
    if pipes {
        let [(one_reads, two_writes), (two_reads, one_writes)] =
            [(); 2].map(|()| std::io::pipe().unwrap());
        return (
            over_pipes(one_reads, one_writes),
            over_pipes(two_reads, two_writes),
        );
    }
    let (one, two) = socket_pair();
    (over(one), over(two))
}

/// Two streams that are each other's peer, over pipes of 4 KiB or sockets that hold as little as they can.
#[cfg(unix)]
fn narrow(pipes: bool) -> (Stream, Stream) {
    use std::os::fd::AsRawFd;
    if pipes {
        let [(one_reads, two_writes), (two_reads, one_writes)] = [(); 2].map(|()| {
            let (reader, writer) = std::io::pipe().unwrap();
            // SAFETY: no pointers.
            unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETPIPE_SZ, 4096) };
            (reader.into(), writer.into())
        });
        return (
            Stream::fds(one_reads, one_writes),
            Stream::fds(two_reads, two_writes),
        );
    }
    let (one, two) = std::os::unix::net::UnixStream::pair().unwrap();
    for socket in [&one, &two] {
        let size: libc::c_int = 4096;
        // SAFETY: the pointer is to an integer of the size that is told.
        unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_SNDBUF,
                (&raw const size).cast(),
                4,
            )
        };
    }
    (Stream::unix(one), Stream::unix(two))
}

// Must not happen: two peers that write much at once deadlock over full pipes.
#[test]
fn both_peers_write_ten_megabytes_at_once() {
    for pipes in [true, false] {
        let (one, two) = narrow(pipes);
        let echo = Handlers::new().request("echo", |request, responder| {
            let params: Value = serde_json::from_str(request.params()).unwrap();
            responder.respond(&params).unwrap();
        });
        let one = Connection::client()
            .handlers(echo.clone())
            .open(one)
            .unwrap();
        let two = Connection::server().handlers(echo).open(two).unwrap();
        let callers: Vec<_> = [&one, &two, &one, &two]
            .map(Connection::peer)
            .into_iter()
            .map(|peer| {
                thread::spawn(move || {
                    let params = json!({"text": "x".repeat(5 << 20)});
                    let answer = peer
                        .request("echo", &params, RequestOptions::new())
                        .unwrap();
                    assert_eq!(answer.as_str().len(), params.to_string().len());
                })
            })
            .collect();
        within(LONG, || {
            callers
                .into_iter()
                .for_each(|caller| caller.join().unwrap())
        });
    }
}

/// Calls every public function of a connection.
fn use_everything(peer: &Peer, connection: Option<&Connection>) {
    peer.name();
    peer.stats();
    peer.is_closed();
    peer.notify("notifications/none", &json!({})).unwrap();
    let options = RequestOptions::new()
        .timeout(LONG)
        .on_progress(|_| _ = peer.stats());
    peer.request("echo", &json!({}), options).unwrap();
    _ = format!("{peer:?}");
    if let Some(connection) = connection {
        _ = format!("{connection:?}");
        connection
            .peer()
            .request("echo", &json!({}), RequestOptions::new())
            .unwrap();
    }
}

/// Echoes, with progress before, and lets every callback there is use everything there is.
fn reentrant(kept: &Kept, ran: &mpsc::Sender<&'static str>) -> Handlers {
    let connection = {
        let kept = Arc::clone(kept);
        move || kept.lock().unwrap().clone()
    };
    let (in_handler, in_note) = (connection.clone(), connection);
    let (handler_ran, note_ran) = (ran.clone(), ran.clone());
    Handlers::new()
        .request("echo", |request, responder| {
            let params = json!({"progressToken": responder.id().as_i64(), "progress": 1});
            responder.notify("notifications/progress", &params).unwrap();
            responder.notify("note", &json!({"quiet": true})).unwrap();
            _ = request.method();
            responder.respond(&json!({})).unwrap();
        })
        .request("everything", move |_, responder| {
            let connection = in_handler();
            use_everything(&responder.peer(), connection.as_ref());
            _ = format!("{responder:?}");
            responder.is_cancelled();
            let ran = handler_ran.clone();
            let peer = responder.peer();
            let token = responder.cancel_token().clone();
            let guard = token.on_trigger(move || {
                _ = format!("{peer:?}");
                ran.send("on_trigger").unwrap();
            });
            token.cancel();
            drop(guard);
            handler_ran.send("handler").unwrap();
            responder.refuse(&RpcError::internal("on purpose")).unwrap();
        })
        .notification("note", move |peer, note| {
            if note.params() == "{}" {
                use_everything(peer, in_note().as_ref());
                note_ran.send("notification").unwrap();
            }
        })
}

// Seen in other SDKs: the first request hangs as soon as its handler sends progress.
// Must not happen: a callback that calls or closes its own client deadlocks; a lock held while user code runs deadlocks.
#[test]
fn callbacks_may_use_the_connection_that_calls_them() {
    let (ran, runs) = mpsc::channel();
    let kept: [Kept; 2] = Default::default();
    let (ours, theirs) = memory::pair();
    let log_peer: Arc<Mutex<Option<Peer>>> = Arc::default();
    let (log_ran, in_log) = (ran.clone(), Arc::clone(&log_peer));
    let hook: mcplink::protocol::LogHook = Arc::new(move |_| {
        let peer = in_log.lock().unwrap().clone();
        if let Some(peer) = peer {
            _ = format!("{peer:?}");
            peer.notify("notifications/none", &json!({})).unwrap();
            log_ran.send("log").unwrap();
        }
    });
    let client = Connection::client()
        .handlers(reentrant(&kept[0], &ran))
        .log(hook.clone());
    let client = client.open(ours).unwrap();
    let server = Connection::server()
        .handlers(reentrant(&kept[1], &ran))
        .log(hook);
    let server = server.open(theirs).unwrap();
    *kept[0].lock().unwrap() = Some(client.clone());
    *kept[1].lock().unwrap() = Some(server.clone());
    for connection in [&client, &server] {
        let peer = connection.peer();
        within(LONG, move || {
            // The first message of all asks back, reports progress and refuses.
            let refused = peer.request("everything", &json!({}), RequestOptions::new());
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::Peer);
            let (inner, token) = (peer.clone(), CancelToken::new());
            let mut depth = 0;
            let options = RequestOptions::new().cancel_with(&token).on_progress(|_| {
                use_everything(&inner, None);
                depth += 1;
            });
            peer.request("echo", &json!({}), options).unwrap();
            assert_eq!(depth, 1);
            peer.notify("note", &json!({})).unwrap();
        });
        *log_peer.lock().unwrap() = Some(connection.peer());
        let gone = call_aside(connection, "tests/none", LONG);
        assert_eq!(gone.join().unwrap().unwrap_err().kind(), ErrorKind::Peer);
    }
    let mut missing = vec![
        "on_trigger",
        "handler",
        "notification",
        "on_trigger",
        "handler",
        "notification",
    ];
    while !missing.is_empty() {
        let ran = runs.recv_timeout(LONG).unwrap();
        if let Some(at) = missing.iter().position(|what| *what == ran) {
            missing.swap_remove(at);
        }
    }
    for kept in kept {
        kept.lock().unwrap().take();
    }
}

/// Ends a connection by `end` from a callback of the kind that `place` names.
fn end_inside(place: &'static str, end: fn(Connection)) {
    let (kept, (sender, ended)): (Kept, _) = (Kept::default(), mpsc::channel());
    let inside = {
        let kept = Arc::clone(&kept);
        move |here: &str| {
            let connection = kept.lock().unwrap().take_if(|_| here == place);
            if let Some(connection) = connection {
                end(connection);
                sender.send(()).unwrap();
            }
        }
    };
    let (in_handler, in_note, in_log) = (inside.clone(), inside.clone(), inside.clone());
    let gate = Gate::default();
    let handlers = crate::common::handlers(&gate)
        .request("here", move |_, responder| {
            in_handler("handler");
            _ = responder.respond(&json!({}));
        })
        .request("nested", {
            let inside = inside.clone();
            move |_, responder| {
                let options = RequestOptions::new().on_progress(|_| inside("nested"));
                let answer = responder.peer().request("question", &json!({}), options);
                assert!(answer.is_err());
            }
        })
        .notification("note", move |_, _| in_note("notification"));
    let hook: mcplink::protocol::LogHook = Arc::new(move |_| in_log("log"));
    for serving in [true, false] {
        let connection = if serving {
            Connection::server()
        } else {
            Connection::client()
        };
        let (connection, mut script) =
            play(connection.handlers(handlers.clone()).log(hook.clone()));
        let peer = connection.peer();
        *kept.lock().unwrap() = Some(connection);
        let calling = (place == "progress").then(|| {
            let (peer, inside) = (peer.clone(), inside.clone());
            thread::spawn(move || {
                let options = RequestOptions::new().on_progress(|_| inside("progress"));
                peer.request("work", &json!({}), options)
                    .unwrap_err()
                    .kind()
            })
        });
        match place {
            "handler" => script.request(1, "here"),
            "notification" => script.notify("note", &json!({})),
            "log" => script.send_bytes(b"noise".to_vec()),
            "progress" => {
                let request = script.receive_request("work");
                script.progress(request["id"].clone(), 1);
            }
            _ => {
                script.request(1, "nested");
                let request = script.receive_request("question");
                script.progress(request["id"].clone(), 1);
            }
        }
        ended.recv_timeout(LONG).expect(place);
        while script.next().is_some() {}
        assert!(peer.is_closed(), "{place}");
        if let Some(calling) = calling {
            assert_eq!(calling.join().unwrap(), ErrorKind::Closed);
        }
        crate::common::wait_until("its threads have ended", || peer.stats().threads == 0);
    }
}

const PLACES: [&str; 5] = ["handler", "notification", "progress", "nested", "log"];

// Must not happen: a callback that calls or closes its own client deadlocks.
#[test]
fn a_connection_can_be_closed_inside_its_callbacks() {
    for place in PLACES {
        end_inside(place, |connection| connection.close());
    }
}

// Must not happen: a callback that calls or closes its own client deadlocks.
#[test]
fn the_last_handle_can_be_dropped_inside_callbacks() {
    for place in PLACES {
        end_inside(place, drop);
    }
}

/// Answers that fill the outbox are written although the thread that queued them runs handlers meanwhile.
#[test]
fn a_full_outbox_is_written_by_whoever_needs_room() {
    let mut limits = Limits::default();
    limits.max_queued_bytes = 1000;
    let handlers = Handlers::new().request("text", |_, responder| {
        responder.respond(&json!("x".repeat(600))).unwrap();
    });
    let connection = Connection::server().handlers(handlers).limits(limits);
    let (connection, mut script) = play(connection.write_timeout(LONG));
    for _ in 0..20 {
        for id in 0..100 {
            script.request(id, "text");
        }
        for _ in 0..100 {
            assert!(script.receive().get("result").is_some());
        }
    }
    assert!(!connection.peer().is_closed());
}
