//! The version and the features of the library that a program runs with.

use std::ffi::{CStr, c_char};
use std::sync::OnceLock;

use super::text::{Text, name};
use crate::schema::ProtocolVersion;

/// Returns the version of this library as text, for example "0.1.0".
///
/// Returns: a static string that ends in NUL; never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn mcplink_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => panic!("a version has no NUL"),
        };
    VERSION.as_ptr()
}

/// Returns the version of this library as a number: major << 24 | minor << 16 | patch << 8.
///
/// Returns: the number; compare it with MCPLINK_VERSION_NUMBER.
#[unsafe(no_mangle)]
pub extern "C" fn mcplink_version_number() -> u32 {
    VERSION_NUMBER
}

/// Checks whether this library is compatible with a program that was compiled against a header of
/// the given version.
///
/// header_version: MCPLINK_VERSION_NUMBER. Before 1.0 a library is compatible with headers of its
/// own minor version, and from 1.0 with headers of its major version. The header must not be newer
/// than the library.
/// Returns: true if the library is compatible.
#[unsafe(no_mangle)]
pub extern "C" fn mcplink_check_version(header_version: u32) -> bool {
    serves(VERSION_NUMBER, header_version)
}

/// Checks whether this build of the library has a feature. Functions of a missing feature return
/// MCPLINK_E_UNSUPPORTED.
///
/// feature: "http-client", "http-server", "tls", "auth" (OAuth for clients), "jwt" (signed tokens
/// on servers), "validation" or "skills"; "http" for clients and servers over HTTP together.
/// Returns: true if the build has the feature; false for NULL and unknown names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_has_feature(feature: *const c_char) -> bool {
    const BUILT: [(&str, bool); 8] = [
        ("http", cfg!(feature = "http-client")),
        ("http-client", cfg!(feature = "http-client")),
        ("http-server", true),
        ("tls", cfg!(feature = "tls")),
        ("auth", cfg!(feature = "auth")),
        ("jwt", cfg!(feature = "jwt")),
        ("validation", cfg!(feature = "validation")),
        ("skills", cfg!(feature = "skills")),
    ];
    // SAFETY: the header requires text that ends in NUL.
    let feature = unsafe { name(feature, "feature") };
    feature.is_ok_and(|feature| BUILT.contains(&(feature, true)))
}

/// Returns the protocol revisions that this library supports, the newest first.
///
/// Returns: a static string that ends in NUL, with a space between two revisions, for example
/// "2026-07-28 2025-11-25"; never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn mcplink_revisions() -> *const c_char {
    static REVISIONS: OnceLock<Text> = OnceLock::new();
    let revisions = REVISIONS.get_or_init(|| {
        let all = ProtocolVersion::ALL.iter().rev();
        let all: Vec<&str> = all.map(|revision| revision.as_str()).collect();
        all.join(" ").into()
    });
    revisions.as_ptr()
}

const VERSION_NUMBER: u32 = number_of(env!("CARGO_PKG_VERSION_MAJOR")) << 24
    | number_of(env!("CARGO_PKG_VERSION_MINOR")) << 16
    | number_of(env!("CARGO_PKG_VERSION_PATCH")) << 8;

const fn number_of(text: &str) -> u32 {
    match u32::from_str_radix(text, 10) {
        Ok(number) => number,
        Err(_) => panic!("versions have numbers"),
    }
}

const fn serves(library: u32, header: u32) -> bool {
    let (major, minor) = (library >> 24, library >> 16);
    header >> 24 == major && header <= library && (major > 0 || header >> 16 == minor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_served_by_its_own_line_of_versions() {
        let version = |major: u32, minor: u32, patch: u32| major << 24 | minor << 16 | patch << 8;
        for (library, header, expected) in [
            (version(0, 1, 2), version(0, 1, 2), true),
            (version(0, 1, 2), version(0, 1, 0), true),
            (version(0, 1, 2), version(0, 1, 3), false),
            (version(0, 2, 0), version(0, 1, 0), false),
            (version(1, 4, 0), version(1, 2, 9), true),
            (version(1, 4, 0), version(1, 5, 0), false),
            (version(2, 0, 0), version(1, 5, 0), false),
        ] {
            assert_eq!(
                serves(library, header),
                expected,
                "{library:x} and {header:x}"
            );
        }
        assert!(mcplink_check_version(mcplink_version_number()));
    }
}
