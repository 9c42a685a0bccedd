//! Heads, chunks and bodies of HTTP requests: a strict reference, and three cuts of the input.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcplink::fuzzing::http::{HttpInput, requests};
use mcplink::transport::http::HttpLimits;
use mcplink_fuzz::{choice, cuts};

fuzz_target!(|data: &[u8]| {
    let (first, data) = choice(data);
    let mut limits = HttpLimits::default();
    limits.max_head_bytes = 512;
    limits.max_body_bytes = 1024;
    limits.max_fields = 8;
    let mut found = cuts(data, first).map(|pieces| requests(pieces.into_iter(), &limits));
    check(&found[0], data);
    for found in &mut found {
        // Which of several faults is found first may depend on the cut.
        if let Some(HttpInput::Refused(status)) = found.last_mut() {
            assert!((400..=599).contains(status));
            *status = 400;
        }
    }
    assert_eq!(found[0], found[1]);
    assert_eq!(found[0], found[2]);
});

/// Checks that the reference finds the same requests at the same places of the input.
fn check(found: &[HttpInput], mut rest: &[u8]) {
    for request in found {
        let HttpInput::Request {
            method,
            target,
            fields,
            body,
        } = request
        else {
            return;
        };
        rest = rest.strip_prefix(b"\r\n").unwrap_or(rest);
        let (own_method, own_target, own_fields, own_body, behind) =
            reference(rest).expect("the request is malformed, but was accepted");
        assert_eq!((method.as_bytes(), body), (own_method, &own_body));
        if own_target.starts_with(b"/") {
            assert_eq!(target.as_bytes(), own_target);
        }
        assert_eq!(fields.len(), own_fields.len());
        for ((name, value), (own_name, own_value)) in fields.iter().zip(own_fields) {
            assert_eq!(name.as_bytes(), own_name);
            // The authority of an absolute target replaces the host.
            if !name.eq_ignore_ascii_case("host") {
                assert_eq!(value, own_value.trim_ascii());
            }
        }
        rest = behind;
    }
}

type Field<'a> = (&'a [u8], &'a [u8]);
type Parts<'a> = (&'a [u8], &'a [u8], Vec<Field<'a>>, Vec<u8>, &'a [u8]);

/// Splits a line that ends in CR LF, and has neither CR nor LF in it.
fn line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| *byte == b'\n')?;
    let line = text[..end].strip_suffix(b"\r")?;
    (!line.contains(&b'\r')).then_some((line, &text[end + 1..]))
}

fn is_token(text: &[u8]) -> bool {
    let is_in = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !text.is_empty() && text.iter().all(is_in)
}

/// Reads one request as strictly as RFC 9112 allows.
fn reference(text: &[u8]) -> Option<Parts<'_>> {
    let (first, mut rest) = line(text)?;
    let mut words = first.split(|byte| *byte == b' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() || !is_token(method) || !version.starts_with(b"HTTP/1.") {
        return None;
    }
    let mut fields = Vec::new();
    loop {
        let (field, behind) = line(rest)?;
        rest = behind;
        if field.is_empty() {
            break;
        }
        let colon = field.iter().position(|byte| *byte == b':')?;
        let (name, value) = (&field[..colon], &field[colon + 1..]);
        let is_text = |byte: &u8| *byte == b'\t' || !byte.is_ascii_control();
        if !is_token(name) || !value.iter().all(is_text) {
            return None;
        }
        fields.push((name, value));
    }
    let values = |name: &str| -> Vec<&[u8]> {
        let found = fields
            .iter()
            .filter(|(own, _)| own.eq_ignore_ascii_case(name.as_bytes()));
        found.map(|(_, value)| value.trim_ascii()).collect()
    };
    let hosts = values("host").len();
    if hosts > 1 || hosts == 0 && version != b"HTTP/1.0" {
        return None;
    }
    let (body, rest) = match (&*values("content-length"), &*values("transfer-encoding")) {
        ([], []) => (Vec::new(), rest),
        ([length], []) if length.iter().all(u8::is_ascii_digit) => {
            let length: usize = std::str::from_utf8(length).ok()?.parse().ok()?;
            let (body, rest) = rest.split_at_checked(length)?;
            (body.to_vec(), rest)
        }
        // Empty members of a list have no meaning.
        ([], codings)
            if version == b"HTTP/1.1" && codings.concat().eq_ignore_ascii_case(b"chunked") =>
        {
            chunks(rest)?
        }
        _ => return None,
    };
    Some((method, target, fields, body, rest))
}

fn chunks(mut rest: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut body = Vec::new();
    loop {
        let (size, behind) = line(rest)?;
        let digits = size
            .iter()
            .take_while(|byte| byte.is_ascii_hexdigit())
            .count();
        let extension = size[digits..].trim_ascii_start();
        if !extension.is_empty() && !extension.starts_with(b";") {
            return None;
        }
        let size = usize::from_str_radix(std::str::from_utf8(&size[..digits]).ok()?, 16).ok()?;
        rest = behind;
        if size == 0 {
            break;
        }
        body.extend_from_slice(rest.get(..size)?);
        rest = rest[size..].strip_prefix(b"\r\n")?;
    }
    loop {
        let (trailer, behind) = line(rest)?;
        rest = behind;
        if trailer.is_empty() {
            return Some((body, rest));
        }
        let colon = trailer.iter().position(|byte| *byte == b':')?;
        if !is_token(&trailer[..colon]) {
            return None;
        }
    }
}
