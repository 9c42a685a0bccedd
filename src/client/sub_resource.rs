//! Resources that are parts of other resources, by their URIs.

use crate::schema::url::normalized;

/// Whether the resource `uri` equals the resource `whole` or lies below `whole`. Compares the URIs
/// as written, and in normalized form.
pub(super) fn is_part(uri: &str, whole: &str) -> bool {
    is_part_exactly(uri, whole) || is_part_exactly(&normalized(uri), &normalized(whole))
}

/// Whether the resource `uri` equals the resource `whole` or lies below `whole`. Compares the URIs
/// only as written.
pub(super) fn is_part_exactly(uri: &str, whole: &str) -> bool {
    uri.strip_prefix(whole).is_some_and(|rest| {
        rest.is_empty() || whole.ends_with('/') || rest.starts_with(['/', '#', '?'])
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_resource_are_told_from_its_neighbours() {
        fn check(uri: &str, expected: bool) {
            assert_eq!(is_part(uri, "file:///a/b"), expected, "{uri}");
        }
        check("file:///a/b", true);
        check("file:///a/b/c.txt", true);
        check("file:///a/b#l3", true);
        check("file:///a/bc", false);
        check("file:///a", false);
        assert!(is_part("file:///a/b", "file:///a/"));
        assert!(is_part("docs://caf%C3%A9/menu", "docs://café"));
        assert!(is_part("https://example.com/", "HTTPS://example.com"));
    }
}
