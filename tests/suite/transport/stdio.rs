//! The standard streams of this process. They are process-wide, so each test runs in a process of its own.

use std::io::{Read, Write};
use std::process::Stdio as To;

use mcplink::ErrorKind;
use mcplink::transport::Stdio;

use crate::common::helper;

use super::{open, receive, receive_end, send, try_open};

/// Runs a server with `input`; returns what it wrote to standard output after the harness's head line, and to standard error.
fn run(name: &str, input: &str) -> (String, String) {
    let mut server = helper(name)
        .stdin(To::piped())
        .stdout(To::piped())
        .stderr(To::piped())
        .spawn()
        .unwrap();
    let mut stdin = server.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let output = server.wait_with_output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{stdout}\n{stderr}");
    let (_, stdout) = stdout.split_once("running 1 test\n").unwrap();
    (stdout.to_owned(), stderr)
}

fn print_stray(text: &str) {
    let line = std::ffi::CString::new(format!("{text} printf\n")).unwrap();
    let raw = format!("{text} write\n");
    // SAFETY: the format ends in NUL and has no directives; the bytes are as many as said.
    unsafe {
        libc::printf(line.as_ptr());
        libc::write(1, raw.as_ptr().cast(), raw.len());
    }
    std::process::Command::new("echo")
        .args([text, "echo"])
        .status()
        .unwrap();
}

// Seen in other SDKs: a stray print to standard output breaks the protocol.
// Must not happen: the standard streams stay redirected after close, or two owners claim them.
// M-STDIO-S-04, L-STDIO-S-05
#[test]
fn stray_output_stays_off_the_wire_and_the_streams_come_back() {
    let (stdout, stderr) = run("transport::stdio::server_with_stray_output", "one\ntwo\n");
    let (wire, after) = stdout.split_once("got two\n").unwrap();
    let (before, messages) = wire.split_at(wire.find("got").unwrap());
    for printed in ["before printf\n", "before write\n", "before echo\n"] {
        assert!(before.contains(printed), "{before}");
    }
    assert_eq!(messages, "got one\n");
    assert!(after.contains("after write\nafter echo\n"), "{after}");
    for stray in ["stray printf", "stray write", "stray echo"] {
        assert!(stderr.contains(stray), "{stderr}");
    }
    assert!(!after.contains("stray"), "{after}");
}

#[test]
#[ignore = "takes the standard streams: run by the test above"]
fn server_with_stray_output() {
    print_stray("before");
    let mut halves = open(Stdio::new());
    print_stray("stray");
    let taken = try_open(Stdio::new()).unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::State, "{taken}");
    // A child of the host finds an empty input, and not our messages.
    let child = std::process::Command::new("cat").output().unwrap();
    assert!(child.stdout.is_empty());
    for _ in 0..2 {
        let text = receive(&mut halves);
        send(&mut halves, &format!("got {text}")).unwrap();
    }
    let end = receive_end(&mut halves);
    assert_eq!(end.kind(), ErrorKind::Closed);
    halves.control.close();
    assert_eq!(
        send(&mut halves, "x").unwrap_err().kind(),
        ErrorKind::Closed
    );
    print_stray("after");
    let mut rest = String::new();
    std::io::stdin().read_to_string(&mut rest).unwrap();
    // Another may have them now, while the old halves still exist; a drop gives them back, too.
    drop(open(Stdio::new()));
    drop(open(Stdio::new().claim(false)));
}

#[test]
fn without_the_claim_nothing_is_redirected() {
    let (stdout, _) = run("transport::stdio::server_without_claim", "");
    assert!(stdout.contains("stray write\n"), "{stdout}");
}

#[test]
#[ignore = "takes the standard streams: run by the test above"]
fn server_without_claim() {
    let _halves = open(Stdio::new().claim(false));
    print_stray("stray");
}

#[test]
fn a_closed_standard_stream_is_an_error_that_says_which() {
    run("transport::stdio::server_without_streams", "");
}

#[test]
#[ignore = "closes standard streams: run by the test above"]
fn server_without_streams() {
    for (number, name) in [(0, "input"), (1, "output")] {
        // SAFETY: what is closed here is put back below, and nothing else in this process opens files.
        let kept = unsafe {
            let kept = libc::fcntl(number, libc::F_DUPFD, 10);
            libc::close(number);
            kept
        };
        let error = try_open(Stdio::new()).unwrap_err();
        // SAFETY: made above.
        unsafe { libc::dup2(kept, number) };
        assert_eq!(error.kind(), ErrorKind::State);
        assert!(error.to_string().contains(name), "{error}");
    }
    // Standard error may be closed: stray output goes nowhere then.
    // SAFETY: as above.
    unsafe {
        let kept = libc::fcntl(2, libc::F_DUPFD, 10);
        libc::close(2);
        let halves = open(Stdio::new());
        assert_eq!(libc::write(1, c"stray\n".as_ptr().cast(), 6), 6);
        drop(halves);
        assert_eq!(libc::fcntl(2, libc::F_GETFD), -1);
        libc::dup2(kept, 2);
    }
}

#[test]
fn closing_ends_a_wait_for_input() {
    let (_, stderr) = run("transport::stdio::server_that_closes", "");
    assert_eq!(stderr, "");
}

#[test]
#[ignore = "takes the standard streams: run by the test above"]
fn server_that_closes() {
    // The end of the input is far away: the other end of this pipe stays open.
    let (reader, _writer) = std::io::pipe().unwrap();
    // SAFETY: both are open descriptors.
    unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&reader), 0) };
    let mcplink::transport::TransportParts {
        mut receiver,
        control,
        ..
    } = open(Stdio::new());
    let reading = std::thread::spawn(move || receiver.receive(None).unwrap_err());
    control.close();
    let end = reading.join().unwrap().to_string();
    assert!(end.contains("by this side"), "{end}");
}
