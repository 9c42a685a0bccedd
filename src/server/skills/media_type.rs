//! The media types of files, by the endings of their names.

/// Endings and their media types, in the order of the endings.
const TYPES: [(&str, &str); 44] = [
    ("bash", "text/x-shellscript"),
    ("bmp", "image/bmp"),
    ("c", "text/x-c"),
    ("cpp", "text/x-c++"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    (
        "docx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ),
    ("gif", "image/gif"),
    ("go", "text/x-go"),
    ("gz", "application/gzip"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("ics", "text/calendar"),
    ("java", "text/x-java"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("md", "text/markdown"),
    ("mjs", "text/javascript"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("odt", "application/vnd.oasis.opendocument.text"),
    ("otf", "font/otf"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    (
        "pptx",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ),
    ("py", "text/x-python"),
    ("rb", "text/x-ruby"),
    ("rs", "text/x-rust"),
    ("sh", "text/x-shellscript"),
    ("sql", "application/sql"),
    ("svg", "image/svg+xml"),
    ("tar", "application/x-tar"),
    ("toml", "application/toml"),
    ("ts", "text/x-typescript"),
    ("ttf", "font/ttf"),
    ("txt", "text/plain"),
    ("wasm", "application/wasm"),
    ("webp", "image/webp"),
    (
        "xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("zip", "application/zip"),
];

/// Returns the media type of a file: by the ending of its name if the ending is known, otherwise by
/// `is_text`. Returns `None` if the ending is unknown and `is_text` is `None`, because the content
/// is made only when the file is read.
pub(super) fn media_type(name: &str, is_text: Option<bool>) -> Option<&'static str> {
    let ending = name.rsplit_once('.').map(|(_, it)| it.to_ascii_lowercase());
    let known = ending.and_then(|ending| {
        let ending = if ending == "yml" { "yaml" } else { &ending };
        let place = TYPES.binary_search_by(|(known, _)| (*known).cmp(ending));
        place.ok().map(|place| TYPES[place].1)
    });
    known.or_else(|| {
        is_text.map(|is_text| match is_text {
            true => "text/plain",
            false => "application/octet-stream",
        })
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    // E-SKILL-S-25
    #[test]
    fn files_have_the_type_of_their_name_or_content() {
        assert!(TYPES.is_sorted_by(|(one, _), (other, _)| one < other));
        for (name, is_text, expected) in [
            ("FORMS.md", true, "text/markdown"),
            ("a.MD", true, "text/markdown"),
            ("fill.py", true, "text/x-python"),
            ("a.tar.gz", false, "application/gzip"),
            ("a.yml", true, "application/yaml"),
            ("logo.png", false, "image/png"),
            ("LICENSE", true, "text/plain"),
            ("a.unknown", true, "text/plain"),
            ("a.unknown", false, "application/octet-stream"),
            ("md", false, "application/octet-stream"),
        ] {
            assert_eq!(media_type(name, Some(is_text)), Some(expected), "{name}");
        }
        assert_eq!(media_type("now", None), None);
        assert_eq!(media_type("now.json", None), Some("application/json"));
    }
}
