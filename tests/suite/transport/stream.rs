use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use mcplink::ErrorKind;
use mcplink::transport::{Limits, Received, SessionMessage, Stream, Transport, TransportParts};

use crate::common::{Socket, Witness, over, over_pipes, socket_pair};

use super::{LONG, open, receive, receive_end, send, send_within};

fn socket_halves() -> (TransportParts, Socket) {
    let (ours, theirs) = socket_pair();
    (open(over(ours)), theirs)
}

fn tcp_pair() -> (TransportParts, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (theirs, _) = listener.accept().unwrap();
    (open(Stream::tcp(ours).unwrap()), theirs)
}

/// Pipes: our halves, what they read from, what they write to.
fn pipe_pair() -> (TransportParts, std::io::PipeWriter, std::io::PipeReader) {
    let (reader, theirs_to_write) = std::io::pipe().unwrap();
    let (theirs_to_read, writer) = std::io::pipe().unwrap();
    let stream = over_pipes(reader, writer);
    (open(stream), theirs_to_write, theirs_to_read)
}

#[test]
fn a_tcp_stream_carries_lines() {
    let (mut halves, mut peer) = tcp_pair();
    peer.write_all(b"one\r\n\ntwo\n").unwrap();
    assert_eq!([(); 2].map(|()| receive(&mut halves)), ["one", "two"]);
    send(&mut halves, "{\n}").unwrap();
    let mut line = [0; 4];
    peer.read_exact(&mut line).unwrap();
    assert_eq!(&line, b"{ }\n");
}

#[test]
fn queued_messages_leave_as_one_line_each_in_order() {
    let (mut halves, mut peer) = socket_halves();
    let mut queue: VecDeque<_> = (0..1000)
        .map(|number| SessionMessage::new(number.to_string().into_bytes()))
        .collect();
    halves
        .sender
        .send(&mut queue, Instant::now() + LONG)
        .unwrap();
    drop(halves);
    let mut text = String::new();
    peer.read_to_string(&mut text).unwrap();
    let expected: String = (0..1000).map(|number| format!("{number}\n")).collect();
    assert_eq!(text, expected);
}

#[test]
fn a_last_line_without_newline_is_a_message() {
    let (mut halves, mut peer) = socket_halves();
    peer.write_all(b"one\ntwo").unwrap();
    drop(peer);
    assert_eq!([(); 2].map(|()| receive(&mut halves)), ["one", "two"]);
    let end = receive_end(&mut halves);
    assert_eq!(end.kind(), ErrorKind::Closed);
    assert!(end.to_string().contains("has closed"), "{end}");
}

#[test]
fn too_long_a_line_is_told_and_the_next_is_received() {
    let (ours, mut peer) = socket_pair();
    let mut limits = Limits::default();
    limits.max_message_bytes = 10;
    let mut halves = Box::new(over(ours)).open(&limits).unwrap();
    peer.write_all(b"12345678901\n1234567890\n").unwrap();
    let received = halves.receiver.receive(Some(LONG));
    assert!(matches!(received, Ok(Received::TooLong(long)) if long.bytes == 11));
    assert_eq!(receive(&mut halves), "1234567890");
}

#[test]
fn patience_is_heeded_by_everything_with_a_descriptor() {
    let (socket, _keep_socket) = socket_halves();
    let (tcp, _keep_tcp) = tcp_pair();
    let (pipe, _keep_writer, _keep_reader) = pipe_pair();
    for mut halves in [socket, tcp, pipe] {
        assert!(halves.receiver.is_patient());
        for millis in [0, 1, 50] {
            let patience = Duration::from_millis(millis);
            let (start, witness) = (Instant::now(), Witness::start());
            let received = halves.receiver.receive(Some(patience));
            assert!(matches!(received, Ok(Received::Nothing)));
            assert!(start.elapsed() >= patience);
            witness.expect_within(patience);
        }
    }
}

#[test]
fn closing_ends_a_wait_on_another_thread() {
    let (socket, _keep_socket) = socket_halves();
    let (tcp, _keep_tcp) = tcp_pair();
    let (pipe, _keep_writer, _keep_reader) = pipe_pair();
    for halves in [socket, tcp, pipe] {
        let TransportParts {
            mut receiver,
            control,
            ..
        } = halves;
        let (sender, result) = mpsc::channel();
        thread::spawn(move || sender.send(receiver.receive(None)));
        control.close();
        let end = result.recv_timeout(LONG).unwrap().unwrap_err();
        assert_eq!(end.kind(), ErrorKind::Closed);
        assert!(end.to_string().contains("by this side"), "{end}");
    }
}

// Must not happen: a call hangs in writing, since the deadline covers only the wait for the answer.
#[test]
fn a_peer_that_never_reads_costs_no_more_than_the_deadline() {
    let (socket, _keep_socket) = socket_halves();
    let (tcp, _keep_tcp) = tcp_pair();
    let (pipe, _keep_writer, _keep_reader) = pipe_pair();
    for mut halves in [socket, tcp, pipe] {
        let mut queue = VecDeque::from([SessionMessage::new(vec![b'x'; 16 << 20])]);
        let time = Duration::from_millis(200);
        let witness = Witness::start();
        let sent = halves.sender.send(&mut queue, Instant::now() + time);
        witness.expect_within(time);
        let error = sent.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    }
}

#[test]
fn what_a_deadline_cut_is_finished_first() {
    let (mut halves, _keep_writer, mut peer) = pipe_pair();
    let long = "x".repeat(1 << 20);
    send_within(&mut halves, &long, Duration::from_millis(10)).unwrap_err();
    let reading = thread::spawn(move || {
        let mut text = String::new();
        peer.read_to_string(&mut text).map(|_| text)
    });
    send(&mut halves, "next").unwrap();
    drop(halves);
    assert!(reading.join().unwrap().unwrap() == format!("{long}\nnext\n"));
}

#[test]
fn closing_ends_a_write_on_another_thread() {
    let (socket, _keep_socket) = socket_halves();
    let (pipe, _keep_writer, _keep_reader) = pipe_pair();
    #[cfg(unix)]
    let (given, _keep_given) = {
        let (given, kept) = socket_pair();
        let stream = Stream::fds(given.try_clone().unwrap().into(), given.into());
        (open(stream), kept)
    };
    // A socket is no handle for reading and writing.
    #[cfg(windows)]
    let (given, _keep_given) = tcp_pair();
    for halves in [socket, pipe, given] {
        let TransportParts {
            mut sender,
            control,
            ..
        } = halves;
        let (tell, result) = mpsc::channel();
        thread::spawn(move || {
            let mut queue = VecDeque::from([SessionMessage::new(vec![b'x'; 16 << 20])]);
            tell.send(sender.send(&mut queue, Instant::now() + LONG))
        });
        assert!(result.recv_timeout(Duration::from_millis(20)).is_err());
        control.close();
        let end = result.recv_timeout(LONG).unwrap().unwrap_err();
        assert_eq!(end.kind(), ErrorKind::Closed, "{end}");
    }
}

#[cfg(unix)] // Flags of descriptors.
#[test]
fn the_flags_of_a_given_pipe_stay_as_they_are() {
    let (reader, writer) = std::io::pipe().unwrap();
    use std::os::fd::AsRawFd as _;
    let (kept_reader, kept_writer) = (reader.try_clone().unwrap(), writer.try_clone().unwrap());
    let mut halves = open(Stream::fds(reader.into(), writer.into()));
    send(&mut halves, "x").unwrap();
    for fd in [kept_reader.as_raw_fd(), kept_writer.as_raw_fd()] {
        // SAFETY: the descriptor is open.
        let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
        assert_eq!(flags & libc::O_NONBLOCK, 0);
    }
}

// Must not happen: two peers that write much at once deadlock over full pipes.
#[test]
fn two_peers_that_both_write_much_at_once_get_through() {
    let (ours, theirs) = socket_pair();
    let much = "x".repeat(10 << 20);
    thread::scope(|scope| {
        for stream in [ours, theirs] {
            let TransportParts {
                mut receiver,
                mut sender,
                control,
                ..
            } = open(over(stream));
            let text = much.clone();
            scope.spawn(move || {
                let mut queue = VecDeque::from([SessionMessage::new(text.into())]);
                sender.send(&mut queue, Instant::now() + LONG).unwrap();
            });
            scope.spawn(move || {
                let received = receiver.receive(Some(LONG));
                let Ok(Received::Message(message)) = received else {
                    panic!("expected a message: {received:?}");
                };
                assert_eq!(message.text.len(), 10 << 20);
                drop(control);
            });
        }
    });
}

// M-TRAN-X-05
#[test]
fn any_reader_and_writer_will_do() {
    let (sent, received) = mpsc::channel();
    struct Sink(mpsc::Sender<Vec<u8>>);
    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.send(bytes.to_vec()).unwrap();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut halves = open(Stream::new(&b"one\ntwo"[..], Sink(sent)));
    assert!(!halves.receiver.is_patient());
    assert_eq!([(); 2].map(|()| receive(&mut halves)), ["one", "two"]);
    send(&mut halves, "three").unwrap();
    assert_eq!(
        received.recv_timeout(LONG).unwrap(),
        b"three\n",
        "one write"
    );
}

#[test]
fn a_closer_ends_a_read_that_blocks() {
    let (ours, _theirs) = socket_pair();
    let (reader, writer) = (ours.try_clone().unwrap(), ours.try_clone().unwrap());
    let stream = Stream::with_closer(reader, writer, move || {
        ours.shutdown(std::net::Shutdown::Both).unwrap();
    });
    let TransportParts {
        mut receiver,
        control,
        ..
    } = open(stream.named("weather"));
    let (sender, result) = mpsc::channel();
    thread::spawn(move || sender.send(receiver.receive(None)));
    control.close();
    let end = result.recv_timeout(LONG).unwrap().unwrap_err();
    assert_eq!(end.kind(), ErrorKind::Closed);
    assert!(end.to_string().contains("'weather'"), "{end}");
}
