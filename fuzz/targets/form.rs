//! Forms and queries, against the parser of the crate `url`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcplink::fuzzing::auth;
use url::form_urlencoded;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let ours = auth::pairs(text).into_iter();
    let ours: Vec<_> = ours
        .filter(|(name, value)| !name.is_empty() || !value.is_empty())
        .collect();
    let theirs = form_urlencoded::parse(text.as_bytes()).into_owned();
    // They replace what is not UTF-8, we ignore the pair. Neither counts an empty pair.
    let theirs: Vec<_> = theirs
        .filter(|(name, value)| !name.is_empty() || !value.is_empty())
        .filter(|(name, value)| {
            text.contains('\u{fffd}') || !format!("{name}{value}").contains('\u{fffd}')
        })
        .collect();
    if !text.to_ascii_lowercase().contains("%ef%bf%bd") && !text.contains('\u{fffd}') {
        assert_eq!(ours, theirs);
    }
    check_written(text);
});

/// What is written is read by both parsers.
fn check_written(text: &str) {
    let lines: Vec<&str> = text.split('\n').collect();
    let pairs: Vec<(String, String)> = lines
        .chunks(2)
        .map(|pair| {
            (
                pair[0].to_owned(),
                pair.get(1).copied().unwrap_or_default().to_owned(),
            )
        })
        .collect();
    let mut form = String::new();
    for (name, value) in &pairs {
        auth::push_pair(&mut form, name, value);
    }
    assert_eq!(auth::pairs(&form), pairs);
    let theirs: Vec<_> = form_urlencoded::parse(form.as_bytes())
        .into_owned()
        .collect();
    assert_eq!(theirs, pairs);
}
