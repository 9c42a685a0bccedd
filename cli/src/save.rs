//! Saving binary content in files.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The longest name of a file, in characters.
const MAX_NAME: usize = 80;
/// How many files of one name a folder may have.
const MAX_COPIES: u32 = 10_000;

/// Writes a new file into a folder, and returns its path.
///
/// `name` comes from the server. Only its last part is used, with safe characters, so that no file
/// is written outside of the folder. No file is replaced: a number is added to the name.
pub(crate) fn save(
    folder: &Path,
    name: &str,
    mime_type: Option<&str>,
    bytes: &[u8],
) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let (stem, extension) = safe_name(name, mime_type);
    for copy in 1..MAX_COPIES {
        let number = match copy {
            1 => String::new(),
            copy => format!("-{copy}"),
        };
        let path = folder.join(format!("{stem}{number}.{extension}"));
        match File::options().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                file.write_all(bytes)?;
                return Ok(path);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!(
        "there are too many files named {stem}"
    )))
}

/// Returns a name and an extension that are safe in every folder.
fn safe_name(name: &str, mime_type: Option<&str>) -> (String, String) {
    let name = name.split(['?', '#']).next().unwrap_or_default();
    let last = name.trim_end_matches('/').rsplit(['/', '\\', ':']).next();
    let safe = |text: &str| -> String {
        let chars = text.chars().take(MAX_NAME);
        let safe = chars.map(|c| match c {
            c if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') => c,
            _ => '_',
        });
        safe.collect()
    };
    let last = safe(last.unwrap_or_default());
    // A name that begins with a dot would be hidden.
    let last = last.trim_matches('.');
    let (stem, own) = match last.rsplit_once('.') {
        Some((stem, extension)) if (1..=8).contains(&extension.len()) => (stem, Some(extension)),
        _ => (last, None),
    };
    let known = mime_type.and_then(extension_of);
    let extension = own.or(known).unwrap_or("bin");
    let stem = stem.trim_matches('.');
    let stem = if stem.is_empty() { "content" } else { stem };
    (stem.to_owned(), extension.to_owned())
}

fn extension_of(mime_type: &str) -> Option<&'static str> {
    let kind = mime_type.split(';').next().unwrap_or_default().trim();
    Some(match kind {
        "application/json" => "json",
        "application/pdf" => "pdf",
        "application/zip" => "zip",
        "audio/mpeg" => "mp3",
        "audio/ogg" => "ogg",
        "audio/wav" | "audio/x-wav" => "wav",
        "image/gif" => "gif",
        "image/jpeg" => "jpg",
        "image/png" => "png",
        "image/svg+xml" => "svg",
        "image/webp" => "webp",
        "text/html" => "html",
        "text/markdown" => "md",
        "text/plain" => "txt",
        "video/mp4" => "mp4",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::safe_name;

    #[test]
    fn names_stay_in_the_folder() {
        for (name, mime_type, expected) in [
            ("file:///a/b.png", None, "b.png"),
            ("demo://bytes", Some("image/png"), "bytes.png"),
            ("../../etc/passwd", None, "passwd.bin"),
            ("..", None, "content.bin"),
            ("/", Some("text/plain; charset=utf-8"), "content.txt"),
            (".bashrc", None, "bashrc.bin"),
            ("a/..\\..\\x", None, "x.bin"),
            ("C:evil.exe", None, "evil.exe"),
            ("a b\u{1b}[2J\u{202e}.txt", None, "a_b__2J_.txt"),
            ("x.png?key=1#y", None, "x.png"),
            (
                "a.b.c.verylongextension",
                None,
                "a.b.c.verylongextension.bin",
            ),
        ] {
            let (stem, extension) = safe_name(name, mime_type);
            assert_eq!(format!("{stem}.{extension}"), expected, "{name}");
        }
        assert!(safe_name(&"x".repeat(5000), None).0.len() <= 80);
    }
}
