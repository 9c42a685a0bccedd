//! Access of the fuzz targets to this layer.
#![cfg(fuzzing)]

use super::message_members::MessageMembers;
use super::nesting;
use super::partial::PartialScanner;
use super::raw_object::RawObject;

/// Checks the invariant of the scanner: it accepts no text that the parser rejects, and returns no
/// other members than the parser. Returns whether the scanner accepted the text.
///
/// # Panics
///
/// If the invariant does not hold.
pub fn check_scanner(text: &str, max_depth: usize) -> bool {
    let Some(scanned) = MessageMembers::scan(text, max_depth) else {
        return false;
    };
    let parsed = MessageMembers::read(text).expect("the scanner accepted what is no message");
    assert!(!nesting::exceeds(text, max_depth));
    let ranges = |members: &MessageMembers| {
        let outcome = (members.result.clone(), members.error.clone());
        let call = (members.method.clone(), members.params.clone());
        (members.jsonrpc.clone(), members.id.clone(), call, outcome)
    };
    assert_eq!(ranges(&scanned), ranges(&parsed));
    if let Some(params) = &scanned.params {
        let known = scanned.member_ranges.members(text, params);
        assert!(known.eq(RawObject::of(&text[params.clone()])));
    }
    if let (true, Some(method)) = (scanned.has_plain_method, &scanned.method) {
        let plain = &text[method.start + 1..method.end - 1];
        let method: String = serde_json::from_str(&text[method.clone()]).expect("a string");
        assert_eq!(plain, method);
    }
    true
}

/// Returns the members of an object that is valid JSON.
pub fn members(object: &str) -> Vec<(String, &str)> {
    let members = RawObject::of(object);
    members
        .map(|(name, value)| (name.into_owned(), value))
        .collect()
}

/// Scans the pieces of a message that can't be parsed. Returns its id, whether it looks like a
/// response, and whether it looks like a notification.
pub fn scan_partially<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Option<String>, bool, bool) {
    let mut scanner = PartialScanner::default();
    pieces.for_each(|piece| scanner.push(piece));
    (
        scanner.id().map(|id| id.to_string()),
        scanner.looks_like_response(),
        scanner.looks_like_notification(),
    )
}
