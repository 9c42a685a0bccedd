//! Checks of `_meta` keys and of the trace context in `_meta`.
//!
//! Spec: Base Protocol, "`_meta`" (since 2025-06-18; trace context since 2026-07-28). W3C Trace
//! Context; W3C Baggage.

use super::meta::meta_key;
use super::version::ProtocolVersion;
use crate::error::{Error, ErrorKind, Excerpt, Result};

/// Checks that a key of `_meta` follows the grammar of the specification. A key is an optional
/// prefix and a name. The prefix consists of dot-separated labels and a final `/`. The name is
/// empty, or begins and ends with a letter or digit.
///
/// # Errors
///
/// [`ErrorKind::Invalid`] when the key doesn't follow the grammar.
pub fn check_meta_key(key: &str) -> Result<()> {
    let (prefix, name) = split(key);
    let problem = if !prefix.is_none_or(|prefix| prefix.split('.').all(is_label)) {
        "labels of the prefix start with a letter, end with a letter or digit and hold letters, digits and hyphens"
    } else if !is_name(name) {
        "the name starts and ends with a letter or digit and holds letters, digits, '-', '_' and '.'"
    } else {
        return Ok(());
    };
    Err(Error::new(
        ErrorKind::Invalid,
        format!("_meta key '{}' is not valid: {problem}", Excerpt(key)),
    ))
}

/// Checks that the id of an extension is a valid key of `_meta` with a prefix, for example
/// `com.example/drawing`.
///
/// Spec: Base Protocol, "Versioning", "Extensions" (2026-07-28).
///
/// # Errors
///
/// [`ErrorKind::Invalid`] when the id is not a valid key, or has no prefix.
pub fn check_extension_id(id: &str) -> Result<()> {
    let problem = match split(id) {
        (None, _) => "it needs a prefix, such as com.example/".to_owned(),
        (Some(_), _) => match check_meta_key(id) {
            Ok(()) => return Ok(()),
            Err(error) => error.to_string(),
        },
    };
    Err(Error::new(
        ErrorKind::Invalid,
        format!("extension id '{}': {problem}", Excerpt(id)),
    ))
}

/// Whether the specification reserves a key of `_meta`, by the rules of `revision`.
///
/// Applications should use keys that no revision reserves.
pub fn is_reserved_meta_key(key: &str, revision: ProtocolVersion) -> bool {
    let (prefix, name) = split(key);
    let Some(prefix) = prefix else {
        let in_every_revision = name == meta_key::PROGRESS_TOKEN;
        let trace_context = [
            meta_key::TRACEPARENT,
            meta_key::TRACESTATE,
            meta_key::BAGGAGE,
        ];
        return in_every_revision || (revision.is_modern() && trace_context.contains(&name));
    };
    let labels: Vec<&str> = prefix.split('.').collect();
    match revision {
        ProtocolVersion::V2024_11_05 | ProtocolVersion::V2025_03_26 => false,
        // "any prefix beginning with zero or more valid labels, followed by modelcontextprotocol or
        // mcp, followed by any valid label"
        ProtocolVersion::V2025_06_18 => labels
            .iter()
            .rev()
            .nth(1)
            .is_some_and(|label| is_mcp(label)),
        _ => labels.get(1).is_some_and(|label| is_mcp(label)),
    }
}

fn is_mcp(label: &str) -> bool {
    matches!(label, "mcp" | "modelcontextprotocol")
}

fn split(key: &str) -> (Option<&str>, &str) {
    match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    }
}

fn is_label(label: &str) -> bool {
    label.starts_with(|c: char| c.is_ascii_alphabetic())
        && label.ends_with(|c: char| c.is_ascii_alphanumeric())
        && label
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

fn is_name(name: &str) -> bool {
    name.is_empty()
        || (name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.ends_with(|c: char| c.is_ascii_alphanumeric())
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)))
}

/// Whether a text is a valid W3C `traceparent`: version, trace id, parent id and flags in
/// lower-case hexadecimal.
pub fn is_valid_traceparent(text: &str) -> bool {
    let fields: Vec<&str> = text.split('-').collect();
    let [version, trace, parent, flags, rest @ ..] = fields.as_slice() else {
        return false;
    };
    is_hex(version, 2)
        && *version != "ff"
        && (rest.is_empty() || *version != "00")
        && is_hex(trace, 32)
        && is_hex(parent, 16)
        && is_hex(flags, 2)
        && [trace, parent]
            .iter()
            .all(|id| id.bytes().any(|b| b != b'0'))
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether a text is a valid W3C `tracestate`: at most 32 entries `key=value` with distinct keys.
pub fn is_valid_tracestate(text: &str) -> bool {
    let entries: Vec<&str> = text
        .split(',')
        .map(|entry| entry.trim_matches([' ', '\t']))
        .filter(|entry| !entry.is_empty())
        .collect();
    let mut keys: Vec<&str> = entries
        .iter()
        .filter_map(|entry| Some(entry.split_once('=')?.0))
        .collect();
    keys.sort_unstable();
    entries.len() <= 32
        && entries.iter().all(|entry| is_state_entry(entry))
        && keys.windows(2).all(|pair| pair[0] != pair[1])
}

fn is_state_entry(entry: &str) -> bool {
    let Some((key, value)) = entry.split_once('=') else {
        return false;
    };
    let simple = |part: &str, digit_first: bool, max: usize| {
        let first = part.bytes().next();
        (1..=max).contains(&part.len())
            && first.is_some_and(|b| b.is_ascii_lowercase() || (digit_first && b.is_ascii_digit()))
            && part
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-*/".contains(&b))
    };
    let key_fits = match key.split_once('@') {
        Some((tenant, system)) => simple(tenant, true, 241) && simple(system, false, 14),
        None => simple(key, false, 256),
    };
    // Trailing blanks have been trimmed already.
    let value_fits = (1..=256).contains(&value.len())
        && value
            .bytes()
            .all(|b| matches!(b, 0x20..=0x7e) && b != b',' && b != b'=');
    key_fits && value_fits
}

/// Whether a text is valid W3C Baggage: entries `key=value` with optional properties, separated by
/// commas; at most 8192 bytes.
pub fn is_valid_baggage(text: &str) -> bool {
    text.len() <= 8192 && text.split(',').all(is_baggage_member)
}

fn is_baggage_member(member: &str) -> bool {
    let mut parts = member.split(';').map(|part| part.trim_matches([' ', '\t']));
    let pair = |part: &str| {
        let (key, value) = part.split_once('=')?;
        let (key, value) = (
            key.trim_end_matches([' ', '\t']),
            value.trim_start_matches([' ', '\t']),
        );
        (is_token(key) && value.bytes().all(is_baggage_octet)).then_some(())
    };
    parts.next().and_then(pair).is_some()
        && parts.all(|property| is_token(property) || pair(property).is_some())
}

fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

fn is_baggage_octet(byte: u8) -> bool {
    matches!(byte, 0x21 | 0x23..=0x2b | 0x2d..=0x3a | 0x3c..=0x5b | 0x5d..=0x7e)
}

#[cfg(test)]
mod tests {
    use super::*;

    // M-META-B-02, M-META-B-03, M-META-B-05, L-META-B-02, L-META-B-03, L-META-B-05
    #[test]
    fn keys_follow_the_grammar() {
        fn check(key: &str, valid: bool) {
            assert_eq!(check_meta_key(key).is_ok(), valid, "{key}");
        }
        for key in [
            "a",
            "",
            "1",
            "a-b_c.d",
            "com.example/x",
            "com.example/",
            "x-1.b2/9",
            "a/b",
            "progressToken",
        ] {
            check(key, true);
        }
        for key in [
            "-x", "x_", ".x", "x.", "a b", "é", "1a.b/x", "a-.b/x", "a..b/x", "/x", "-a/x",
            "a_b/x", ".a/x", "a./x", "a/b/c", "a/-x", "a/x_",
        ] {
            check(key, false);
        }
    }

    // M-VER-B-05
    #[test]
    fn the_id_of_an_extension_has_a_prefix() {
        for id in ["com.example/x", "io.modelcontextprotocol/ui", "a/b"] {
            assert!(check_extension_id(id).is_ok(), "{id}");
        }
        for id in ["tasks", "", "1x/y", "/x", "a/b/c", "com.example/-x"] {
            assert!(check_extension_id(id).is_err(), "{id}");
        }
    }

    // M-META-B-06, M-META-B-20, L-META-B-06
    #[test]
    fn prefixes_with_the_protocols_name_are_reserved() {
        use ProtocolVersion::*;
        fn check(key: &str, reserving: &[ProtocolVersion]) {
            for &revision in ProtocolVersion::ALL {
                assert_eq!(
                    is_reserved_meta_key(key, revision),
                    reserving.contains(&revision),
                    "{key} in {revision}"
                );
            }
        }
        check("io.modelcontextprotocol/x", &[V2025_11_25, V2026_07_28]);
        check("dev.mcp/x", &[V2025_11_25, V2026_07_28]);
        check(
            "org.modelcontextprotocol.api/x",
            &[V2025_06_18, V2025_11_25, V2026_07_28],
        );
        check("mcp.dev/x", &[V2025_06_18]);
        check(
            "api.modelcontextprotocol.org/",
            &[V2025_06_18, V2025_11_25, V2026_07_28],
        );
        check("com.example.mcp/x", &[]);
        check("com.example/mcp", &[]);
        check("mcp", &[]);
        check("progressToken", ProtocolVersion::ALL);
        check("traceparent", &[V2026_07_28]);
        check("tracestate", &[V2026_07_28]);
        check("baggage", &[V2026_07_28]);
        check("progresstoken", &[]);
    }

    // M-META-B-19
    #[test]
    fn a_trace_parent_follows_the_w3c_format() {
        let id = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331";
        for valid in [
            format!("00-{id}-01"),
            format!("00-{id}-00"),
            format!("cc-{id}-01-what-the-future-will-be-like"),
        ] {
            assert!(is_valid_traceparent(&valid), "{valid}");
        }
        for invalid in [
            String::new(),
            format!("ff-{id}-01"),
            format!("00-{id}"),
            format!("00-{id}-01-x"),
            format!("00-{id}-0"),
            format!("00-{}-01", id.to_uppercase()),
            format!("00-{}-b7ad6b7169203331-01", "0".repeat(32)),
            format!("00-0af7651916cd43dd8448eb211c80319c-{}-01", "0".repeat(16)),
        ] {
            assert!(!is_valid_traceparent(&invalid), "{invalid}");
        }
    }

    // M-META-B-19
    #[test]
    fn a_trace_state_follows_the_w3c_format() {
        for valid in [
            "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
            "a=b , c=d,",
            "1tenant@sys=x y",
            "",
        ] {
            assert!(is_valid_tracestate(valid), "{valid}");
        }
        let too_many: Vec<String> = (0..33).map(|n| format!("k{n}=v")).collect();
        for invalid in [
            "a", "=b", "a=", "A=b", "1a=b", "a=b=c", "a=b,a=c", "a@1=b", "a=é",
        ] {
            assert!(!is_valid_tracestate(invalid), "{invalid}");
        }
        assert!(!is_valid_tracestate(&too_many.join(",")));
    }

    // M-META-B-19
    #[test]
    fn baggage_follows_the_w3c_format() {
        for valid in [
            "userId=alice,serverNode=DF%2028,isProduction=false",
            "key1=value1;property1;property2=x, key2 = value2",
            "k=",
        ] {
            assert!(is_valid_baggage(valid), "{valid}");
        }
        for invalid in ["", "k", "a b=c", "k=a b", "k=\"v\"", "k=v,", "k=v;"] {
            assert!(!is_valid_baggage(invalid), "{invalid}");
        }
        assert!(!is_valid_baggage(&format!("k={}", "v".repeat(8192))));
    }
}
