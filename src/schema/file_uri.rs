//! Conversion between absolute paths and `file:` URIs, for Unix and Windows.
//!
//! The functions are pure: they access no file, and both kinds of paths can be converted on every
//! system.

use super::url::{Url, percent_decoded, percent_encoded};

/// The kind of a path, which determines its separators and its reserved names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathKind {
    Unix,
    Windows,
}

impl PathKind {
    /// The kind of paths on this system.
    pub(crate) const HERE: Self = match cfg!(windows) {
        true => Self::Windows,
        false => Self::Unix,
    };
}

/// Returns the `file:` URI of an absolute path. Returns `None` if the path is not absolute or has a
/// segment `..`. Segments `.` are left out of the URI.
///
/// On Windows, the path begins with a drive (`C:\a`) or names a share of another machine
/// (`\\server\share\a`). Both may have the prefix `\\?\`. Other paths, such as those of devices and
/// volumes, have no URI.
pub(crate) fn uri_of(path: &str, kind: PathKind) -> Option<String> {
    match kind {
        PathKind::Unix => {
            let segments = path.strip_prefix('/')?.split('/');
            encoded("file://", segments, PathKind::Unix)
        }
        PathKind::Windows => uri_of_windows(path),
    }
}

fn uri_of_windows(path: &str) -> Option<String> {
    let verbatim = path.strip_prefix(r"\\?\");
    let is_separator = |letter| letter == '\\' || (letter == '/' && verbatim.is_none());
    let share = match verbatim {
        Some(rest) => rest.strip_prefix(r"UNC\"),
        None => path
            .strip_prefix(is_separator)
            .and_then(|rest| rest.strip_prefix(is_separator)),
    };
    if let Some(share) = share {
        let (server, rest) = share.split_once(is_separator)?;
        let has_share = !rest.split(is_separator).next().unwrap_or("").is_empty();
        let beginning = format!("file://{server}");
        return (is_server(server) && has_share)
            .then(|| encoded(&beginning, rest.split(is_separator), PathKind::Windows))
            .flatten();
    }
    let path = verbatim.unwrap_or(path);
    let (drive, rest) = path.split_once(':')?;
    let rest = rest.strip_prefix(is_separator)?;
    let beginning = format!("file:///{drive}:");
    is_drive_letter(drive)
        .then(|| encoded(&beginning, rest.split(is_separator), PathKind::Windows))
        .flatten()
}

/// Returns a URI that begins with a text and has these path segments. Segments `.` are left out.
/// Returns `None` for a segment `..`, and on Windows for one that [`is_plain_name`] refuses.
fn encoded<'a>(
    beginning: &str,
    segments: impl Iterator<Item = &'a str>,
    kind: PathKind,
) -> Option<String> {
    let mut uri = beginning.to_owned();
    for segment in segments.filter(|segment| *segment != ".") {
        let is_name = kind == PathKind::Unix || segment.is_empty() || is_plain_name(segment);
        if segment == ".." || !is_name {
            return None;
        }
        uri.push('/');
        uri.push_str(&percent_encoded(segment));
    }
    if uri.len() == beginning.len() {
        uri.push('/');
    }
    Some(uri)
}

/// Returns the host name and the path segments of a `file://` URI, decoded. Empty segments are
/// omitted. Returns `None` for other URIs, and for paths that can't be compared as text. These are
/// paths with segments like `..`, and on Windows paths with segments that [`is_plain_name`]
/// refuses.
///
/// The host name is in lower case, and empty for this machine. On Windows, the letter of a drive is
/// in upper case.
pub(crate) fn steps(uri: &str, kind: PathKind) -> Option<Vec<String>> {
    let url = Url::read(uri)?;
    let path = url.path.strip_prefix('/')?;
    if !url.is("file") || url.user.is_some() || path.contains(['?', '#']) {
        return None;
    }
    let host = match url.host.to_ascii_lowercase() {
        host if host == "localhost" => String::new(),
        host => host,
    };
    let is_here = host.is_empty();
    let mut steps = vec![host];
    for step in path.split('/').filter(|step| !step.is_empty()) {
        let mut step = percent_decoded(step)?;
        if step == "." || step == ".." || step.contains(['/', '\\', '\0']) {
            return None;
        }
        if kind == PathKind::Windows {
            if steps.len() == 1 && is_here && is_drive(&step) {
                step.make_ascii_uppercase();
            } else if !is_plain_name(&step) {
                return None;
            }
        }
        steps.push(step);
    }
    Some(steps)
}

/// Returns the path in a `file:` URI. Returns `None` for an invalid or unsafe URI: see
/// [`Folder`](crate::server::Folder). On Windows, the path in the URI must begin with a drive, or
/// the URI must name a server and a share.
pub(crate) fn path_of(uri: &str, kind: PathKind) -> Option<String> {
    let (scheme, rest) = uri.split_once("://")?;
    let (host, path) = rest.split_once('/')?;
    let is_here = host.is_empty() || host.eq_ignore_ascii_case("localhost");
    let is_known_host = is_here || kind == PathKind::Windows;
    if !scheme.eq_ignore_ascii_case("file") || !is_known_host || path.contains(['?', '#']) {
        return None;
    }
    let mut parts = path.split('/').map(|part| {
        let part = percent_decoded(part)?;
        let is_name = !matches!(part.as_str(), "" | "." | "..");
        (is_name && !part.contains(['/', '\\', '\0'])).then_some(part)
    });
    if kind == PathKind::Unix {
        return parts
            .map(|part| part.map(|part| format!("/{part}")))
            .collect();
    }
    let beginning = match is_here {
        true => parts.next()?.filter(|part| is_drive(part))?,
        false if is_server(host) => format!(r"\\{host}"),
        false => return None,
    };
    let rest: Option<Vec<String>> = parts
        .map(|part| part.filter(|part| is_plain_name(part)))
        .collect();
    let rest = rest?.join(r"\");
    (!rest.is_empty()).then(|| format!(r"{beginning}\{rest}"))
}

/// Whether a text is the name of a server. `.` and `?` stand for this machine's devices.
fn is_server(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    text.starts_with(|first: char| first.is_ascii_alphanumeric()) && text.bytes().all(is_letter)
}

fn is_drive(segment: &str) -> bool {
    segment.strip_suffix(':').is_some_and(is_drive_letter)
}

fn is_drive_letter(text: &str) -> bool {
    matches!(text.as_bytes(), [letter] if letter.is_ascii_alphabetic())
}

/// Whether Windows takes the whole text of a path segment as a file name.
///
/// Windows ignores dots and spaces at the end of a name. A colon begins the name of a stream of the
/// file (`a.txt:b`), and some names stand for devices in every folder (`NUL`, `com1.txt`).
fn is_plain_name(segment: &str) -> bool {
    const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];
    let is_reserved = |letter: char| letter < ' ' || r#"<>:"/\|?*"#.contains(letter);
    if segment.is_empty() || segment.ends_with(['.', ' ']) || segment.contains(is_reserved) {
        return false;
    }
    let base = segment.split('.').next().unwrap_or_default();
    let base = base.trim_end_matches(' ').to_ascii_uppercase();
    let numbered = ["COM", "LPT"]
        .iter()
        .find_map(|device| base.strip_prefix(device));
    // Windows counts superscript digits as digits here.
    let is_port = numbered.is_some_and(|number| {
        let mut letters = number.chars();
        let digit = letters.next().filter(|_| letters.next().is_none());
        digit.is_some_and(|digit| digit.is_ascii_digit() || "¹²³".contains(digit))
    });
    !is_port && !DEVICES.contains(&&*base)
}

#[cfg(test)]
mod tests {
    use super::*;

    use PathKind::{Unix, Windows};

    // M-ROOT-C-04
    #[test]
    fn an_absolute_path_has_a_uri() {
        for (path, kind, uri) in [
            ("/", Unix, Some("file:///")),
            (
                "/home/my work/ü",
                Unix,
                Some("file:///home/my%20work/%C3%BC"),
            ),
            ("/a/", Unix, Some("file:///a/")),
            (r"/a\b:c", Unix, Some("file:///a%5Cb%3Ac")),
            ("", Unix, None),
            ("a", Unix, None),
            ("/a/../b", Unix, None),
            (r"C:\a", Unix, None),
            (r"C:\", Windows, Some("file:///C:/")),
            (r"C:\a b\ü", Windows, Some("file:///C:/a%20b/%C3%BC")),
            (r"c:/a/b\c", Windows, Some("file:///c:/a/b/c")),
            (r"\\?\C:\a b", Windows, Some("file:///C:/a%20b")),
            (r"\\?\C:\a/b", Windows, None),
            (r"C:\a\.\b\.", Windows, Some("file:///C:/a/b")),
            (r"C:\.", Windows, Some("file:///C:/")),
            (r"C:\a.\b", Windows, None),
            (r"C:\a\NUL", Windows, None),
            (r"C:\a.txt:b", Windows, None),
            (r"\\server\share\com1.txt", Windows, None),
            ("/a/./b", Unix, Some("file:///a/b")),
            ("/.", Unix, Some("file:///")),
            ("/a./NUL", Unix, Some("file:///a./NUL")),
            (
                r"\\server\share\a b",
                Windows,
                Some("file://server/share/a%20b"),
            ),
            ("//server/share/a", Windows, Some("file://server/share/a")),
            (
                r"\\?\UNC\server\share\a",
                Windows,
                Some("file://server/share/a"),
            ),
            (r"C:\a%41#b", Windows, Some("file:///C:/a%2541%23b")),
            ("", Windows, None),
            ("a", Windows, None),
            ("C:", Windows, None),
            ("C:a", Windows, None),
            (r"\a", Windows, None),
            ("/a", Windows, None),
            ("1:\\a", Windows, None),
            ("ab:\\a", Windows, None),
            (r"C:\a\..\b", Windows, None),
            (r"\\server", Windows, None),
            (r"\\server\", Windows, None),
            (r"\\\share\a", Windows, None),
            (r"\\.\pipe\x", Windows, None),
            (r"\\ser ver\share", Windows, None),
            (r"\\?\Volume{01234567-89ab}\a", Windows, None),
            (r"\\?\C:", Windows, None),
        ] {
            assert_eq!(uri_of(path, kind).as_deref(), uri, "{path}");
        }
    }

    // M-RES-S-15
    #[test]
    fn a_uri_names_a_path_or_nothing() {
        for (uri, unix, windows) in [
            ("file:///a/b%20c", Some("/a/b c"), None),
            ("file:///C:/a%20b/c", Some("/C:/a b/c"), Some(r"C:\a b\c")),
            ("FILE://LocalHost/c%3a/a", Some("/c:/a"), Some(r"c:\a")),
            ("file://server/share/a", None, Some(r"\\server\share\a")),
            ("file://ser%20ver/share/a", None, None),
            ("file:///C:/", None, None),
            ("file:///C:", Some("/C:"), None),
            ("file:///C|/a", Some("/C|/a"), None),
            ("file:////server/share", None, None),
            ("file:///%5C%5Cserver/share", None, None),
            ("file:///C:/a/../b", None, None),
            ("file:///C:/a/%2e%2e/b", None, None),
            ("file:///C:/a%5Cb", None, None),
            ("file:///C:/a.txt:b", Some("/C:/a.txt:b"), None),
            ("file:///C:/a.txt%3A$DATA", Some("/C:/a.txt:$DATA"), None),
            ("file:///C:/D:/a", Some("/C:/D:/a"), None),
            ("file:///C:/a./b", Some("/C:/a./b"), None),
            ("file:///C:/a%20", Some("/C:/a "), None),
            ("file:///C:/.../b", Some("/C:/.../b"), None),
            ("file:///C:/..%20/b", Some("/C:/.. /b"), None),
            ("file:///C:/NUL", Some("/C:/NUL"), None),
            ("file:///C:/con.txt", Some("/C:/con.txt"), None),
            ("file:///C:/a/aux%20.b.c", Some("/C:/a/aux .b.c"), None),
            ("file:///C:/com1", Some("/C:/com1"), None),
            ("file:///C:/LPT%C2%B2.x", Some("/C:/LPT².x"), None),
            ("file:///C:/conin$", Some("/C:/conin$"), None),
            ("file:///C:/com10", Some("/C:/com10"), Some(r"C:\com10")),
            (
                "file:///C:/console",
                Some("/C:/console"),
                Some(r"C:\console"),
            ),
            ("file:///C:/a*", Some("/C:/a*"), None),
            ("file:///C:/a%0A", Some("/C:/a\n"), None),
            ("file:///%3F/C:/a", Some("/?/C:/a"), None),
            ("file://./pipe/x", None, None),
        ] {
            assert_eq!(path_of(uri, Windows).as_deref(), windows, "{uri}");
            assert_eq!(path_of(uri, Unix).as_deref(), unix, "{uri}");
        }
    }

    // M-ROOT-S-10
    #[test]
    fn steps_are_compared_as_the_system_reads_them() {
        let words = |uri: &str, kind| steps(uri, kind).map(|steps| steps.join("|"));
        for (uri, unix, windows) in [
            ("file:///c:/Users", Some("|c:|Users"), Some("|C:|Users")),
            ("file:///c%3A/Users", Some("|c:|Users"), Some("|C:|Users")),
            ("file://SERVER/c:/a", Some("server|c:|a"), None),
            (
                "file://SERVER/share/a",
                Some("server|share|a"),
                Some("server|share|a"),
            ),
            ("file:///C:/a./b", Some("|C:|a.|b"), None),
            ("file:///C:/..%20/b", Some("|C:|.. |b"), None),
            ("file:///C:/a:b", Some("|C:|a:b"), None),
            ("file:///C:/nul.txt", Some("|C:|nul.txt"), None),
            ("file:///C:/a%5Cb", None, None),
            ("file:///C:/a/../b", None, None),
        ] {
            assert_eq!(words(uri, Unix).as_deref(), unix, "{uri}");
            assert_eq!(words(uri, Windows).as_deref(), windows, "{uri}");
        }
    }
}
