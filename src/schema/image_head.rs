//! Reads the first bytes of an image: format, size and number of frames.
//!
//! Spec: PNG (third edition) and its animations; ITU-T T.81 (JPEG); RFC 9649 (WebP).

/// An image format, which is detected by the first bytes of an image.
///
/// # Examples
///
/// ```
/// use mcplink::schema::IconFormat;
///
/// // A server of icons chooses the MIME type by the bytes, not by the name of the file.
/// # let bytes = b"\xff\xd8\xff\xe0\x00\x10JFIF\0\x01\x01";
/// let format = IconFormat::of(bytes);
/// assert_eq!(format.map(IconFormat::mime_type), Some("image/jpeg"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IconFormat {
    /// PNG (`image/png`).
    Png,
    /// JPEG (`image/jpeg`, also written `image/jpg`).
    Jpeg,
    /// WebP (`image/webp`).
    WebP,
    /// SVG (`image/svg+xml`). An SVG can contain scripts and external references. Show it only
    /// where both are disabled.
    Svg,
}

impl IconFormat {
    /// Detects the format of an image by its bytes alone. Returns `None` for an unknown format.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        format_of(bytes)
    }

    /// Returns the MIME type of the format.
    pub fn mime_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::WebP => "image/webp",
            Self::Svg => "image/svg+xml",
        }
    }

    pub(super) fn is_named(self, mime_type: &str) -> bool {
        let name = mime_type.split(';').next().unwrap_or_default().trim();
        name.eq_ignore_ascii_case(self.mime_type())
            || (self == Self::Jpeg && name.eq_ignore_ascii_case("image/jpg"))
    }
}

/// Detects the format of an image by its bytes alone. Returns `None` for an unknown format.
pub(super) fn format_of(bytes: &[u8]) -> Option<IconFormat> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(IconFormat::Png),
        [0xff, 0xd8, 0xff, ..] => Some(IconFormat::Jpeg),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some(IconFormat::WebP),
        _ => is_svg(bytes).then_some(IconFormat::Svg),
    }
}

/// Whether a text is an SVG: it begins with the element `svg`, after declarations and comments.
fn is_svg(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let Ok(mut text) = std::str::from_utf8(bytes) else {
        return false;
    };
    loop {
        text = text.trim_ascii_start();
        let end = if text.starts_with("<!--") {
            "-->"
        } else if text.starts_with("<?") {
            "?>"
        } else if text.starts_with("<!DOCTYPE svg") && !text.contains('[') {
            ">"
        } else {
            break;
        };
        match text.split_once(end) {
            Some((_, rest)) => text = rest,
            None => return false,
        }
    }
    text.strip_prefix("<svg")
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_whitespace() || "/>".contains(c)))
}

/// The size and number of frames of an image. An SVG has no size of its own.
#[derive(Debug, PartialEq)]
pub(super) struct Size {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) frames: u32,
}

impl Size {
    pub(super) fn of(format: IconFormat, bytes: &[u8]) -> Option<Self> {
        let (width, height, frames) = match format {
            IconFormat::Png => png(bytes)?,
            IconFormat::Jpeg => jpeg(bytes)?,
            IconFormat::WebP => webp(bytes)?,
            IconFormat::Svg => (0, 0, 1),
        };
        Some(Self {
            width,
            height,
            frames,
        })
    }
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(four.try_into().ok()?))
}

fn le24(bytes: &[u8], at: usize) -> Option<u32> {
    match bytes.get(at..at.checked_add(3)?)? {
        [a, b, c] => Some(u32::from_le_bytes([*a, *b, *c, 0])),
        _ => None,
    }
}

fn png(bytes: &[u8]) -> Option<(u32, u32, u32)> {
    if bytes.get(12..16)? != b"IHDR" {
        return None;
    }
    let (width, height) = (be32(bytes, 16)?, be32(bytes, 20)?);
    // In an animation the chunk `acTL` comes before the first image data.
    let mut at = 8_usize;
    loop {
        match bytes.get(at + 4..at + 8)? {
            b"IDAT" => return Some((width, height, 1)),
            b"acTL" => return Some((width, height, be32(bytes, at + 8)?.max(1))),
            _ => at = at.checked_add(usize::try_from(be32(bytes, at)?).ok()?.checked_add(12)?)?,
        }
        at.checked_add(8)?;
    }
}

fn jpeg(bytes: &[u8]) -> Option<(u32, u32, u32)> {
    let be16 = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let mut at = 2;
    loop {
        let (0xff, marker) = (*bytes.get(at)?, *bytes.get(at + 1)?) else {
            return None;
        };
        match marker {
            0xff => at += 1,
            // Start of frame, for any coding process.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                return Some((be16(at + 7)?.into(), be16(at + 5)?.into(), 1));
            }
            0x01 | 0xd0..=0xd8 => at += 2,
            // Image data or the end of the image, without a frame before it.
            0xd9 | 0xda => return None,
            _ => at += 2 + usize::from(be16(at + 2)?.max(2)),
        }
    }
}

fn webp(bytes: &[u8]) -> Option<(u32, u32, u32)> {
    let le16 = |at: usize| {
        let two = bytes.get(at..at + 2)?;
        Some(u32::from(u16::from_le_bytes(two.try_into().ok()?)))
    };
    match bytes.get(12..16)? {
        b"VP8 " if bytes.get(23..26)? == [0x9d, 0x01, 0x2a] => {
            Some((le16(26)? & 0x3fff, le16(28)? & 0x3fff, 1))
        }
        b"VP8L" if *bytes.get(20)? == 0x2f => {
            let four = bytes.get(21..25)?.try_into().ok()?;
            let bits = u32::from_le_bytes(four);
            Some(((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1, 1))
        }
        b"VP8X" => {
            let (width, height) = (le24(bytes, 24)? + 1, le24(bytes, 27)? + 1);
            Some((width, height, webp_frames(bytes)?))
        }
        _ => None,
    }
}

/// Counts the frames of an extended WebP. An animation has one chunk `ANMF` for each frame.
fn webp_frames(bytes: &[u8]) -> Option<u32> {
    let mut frames = 0;
    let mut at = 12_usize;
    while let Some(name) = bytes.get(at..at.checked_add(4)?) {
        frames += u32::from(name == b"ANMF");
        let length = bytes.get(at + 4..at + 8)?;
        let length = usize::try_from(u32::from_le_bytes(length.try_into().ok()?)).ok()?;
        // Chunks are padded to an even length.
        at = at
            .checked_add(8)?
            .checked_add(length)?
            .checked_add(length % 2)?;
    }
    Some(frames.max(1))
}
