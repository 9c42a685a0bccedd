//! Newline framing, against a reference and against itself with the input cut differently.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcplink::fuzzing::jsonrpc::scan_partially;
use mcplink::jsonrpc::{Line, LineBuffer, end_line};
use mcplink_fuzz::{choice, cuts};

fuzz_target!(|data: &[u8]| {
    let (first, data) = choice(data);
    let max_bytes = usize::from(first) % 100;
    let expected = reference(data, max_bytes);
    let cuts = cuts(data, first);
    let scanned = scan_partially(std::iter::once(data));
    for pieces in &cuts {
        assert_eq!(read(pieces, max_bytes), expected);
        assert_eq!(scan_partially(pieces.iter().copied()), scanned);
    }
    check_end_line(data);
});

/// A line: a message, or the length and the id of one that was too long.
type Read = Result<Vec<u8>, (usize, Option<String>, bool)>;

fn read(pieces: &[&[u8]], max_bytes: usize) -> Vec<Read> {
    let mut buffer = LineBuffer::new(max_bytes);
    let mut found = Vec::new();
    for mut piece in pieces.iter().copied() {
        while !piece.is_empty() {
            let room = buffer.room().expect("there is memory");
            let (now, later) = piece.split_at(room.len().min(piece.len()));
            room[..now.len()].copy_from_slice(now);
            buffer.filled(now.len());
            piece = later;
            loop {
                let has_line = buffer.has_line();
                let line = buffer.next_line();
                assert_eq!(has_line, line.is_some());
                found.push(match line {
                    Some(Line::Message(message)) => Ok(message),
                    Some(Line::TooLong(it)) => {
                        assert!(!it.no_memory);
                        let id = it.id.map(|id| id.to_string());
                        Err((it.bytes, id, it.is_response))
                    }
                    _ => break,
                });
            }
        }
    }
    found.extend(buffer.take_rest().map(Ok));
    found
}

fn reference(data: &[u8], max_bytes: usize) -> Vec<Read> {
    let mut lines: Vec<&[u8]> = data.split(|byte| *byte == b'\n').collect();
    let rest = lines.pop().unwrap_or_default();
    let content = |line: &[u8]| {
        let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        line.trim_ascii().to_vec()
    };
    // One byte more than the limit may be a carriage return.
    let is_long = |line: &[u8]| line.len() > max_bytes + 1 || content(line).len() > max_bytes;
    let mut found: Vec<Read> = Vec::new();
    for line in lines {
        if is_long(line) {
            let (id, is_response, _) = scan_partially(std::iter::once(line));
            found.push(Err((line.len(), id, is_response)));
        } else if !content(line).is_empty() {
            found.push(Ok(content(line)));
        }
    }
    if !is_long(rest) && !content(rest).is_empty() {
        found.push(Ok(content(rest)));
    }
    found
}

/// A message becomes one line, whatever it has in it.
fn check_end_line(data: &[u8]) {
    let mut line = data.to_vec();
    end_line(&mut line);
    let (end, content) = line.split_last().expect("a line has an end");
    assert_eq!(*end, b'\n');
    assert!(!content.iter().any(|byte| b"\r\n".contains(byte)));
}
