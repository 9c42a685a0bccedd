//! Event streams: a reference by the HTML standard, three cuts of the input, and written events.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use mcplink::fuzzing::http::{Events, events, write_event};
use mcplink_fuzz::{choice, cuts};

fuzz_target!(|data: &[u8]| {
    let (first, data) = choice(data);
    let max_bytes = usize::from(first) * 8;
    let found = cuts(data, first).map(|pieces| events(pieces.into_iter(), max_bytes));
    assert_eq!(found[0], found[1]);
    assert_eq!(found[0], found[2]);
    assert_eq!(found[0], reference(data, max_bytes));
    check_written(data);
});

/// Interprets a stream as section 9.2.6 of the HTML standard does, with our limits.
fn reference(data: &[u8], max_bytes: usize) -> Events {
    const MAX_WORD: usize = 4096;
    let data = data.strip_prefix("\u{feff}".as_bytes()).unwrap_or(data);
    let mut found = Events::default();
    let (mut name, mut text, mut id) = (String::new(), None::<Vec<u8>>, None);
    let mut lines = lines(data);
    // The last line has no end.
    lines.pop();
    for line in lines {
        let colon = line.iter().position(|byte| *byte == b':');
        let (field, value) = match colon {
            _ if line.is_empty() => {
                if let Some(id) = id.take() {
                    found.last_id = id;
                }
                let name = std::mem::take(&mut name);
                match text.take() {
                    Some(text) if text.len() > max_bytes => found.events.push(None),
                    Some(text) if !text.is_empty() => {
                        let name = if name.is_empty() {
                            "message".into()
                        } else {
                            name
                        };
                        found.events.push(Some((name, text)));
                    }
                    _ => {}
                }
                continue;
            }
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let fits = value.len() <= MAX_WORD && !value.contains(&0);
        let word = String::from_utf8(value.to_vec()).ok().filter(|_| fits);
        match field {
            b"" => found.comments += 1,
            b"data" => match &mut text {
                Some(text) => text.extend([b"\n", value].concat()),
                None => text = Some(value.to_vec()),
            },
            b"event" => name = word.unwrap_or_default(),
            b"id" => id = word.or(id),
            b"retry" => {
                let digits = word.filter(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
                let millis = digits.and_then(|digits| digits.parse().ok());
                found.retry = millis.map(Duration::from_millis).or(found.retry);
            }
            _ => {}
        }
    }
    found
}

/// Splits a text at CR LF, CR and LF.
fn lines(mut text: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    while let Some(end) = text.iter().position(|byte| b"\r\n".contains(byte)) {
        lines.push(&text[..end]);
        let end = if text[end..].starts_with(b"\r\n") {
            end + 2
        } else {
            end + 1
        };
        text = &text[end..];
    }
    lines.push(text);
    lines
}

/// An event that we write is read as one event with the same data.
fn check_written(data: &[u8]) {
    let mut stream = Vec::new();
    write_event(&mut stream, Some("7"), data);
    let found = events(std::iter::once(&*stream), usize::MAX);
    let blank = |byte: &u8| if b"\r\n".contains(byte) { b' ' } else { *byte };
    let expected: Vec<u8> = data.iter().map(blank).collect();
    let expected = Some(("message".to_owned(), expected));
    let expected = if data.is_empty() {
        vec![]
    } else {
        vec![expected]
    };
    assert_eq!((found.events, &*found.last_id), (expected, "7"));
}
