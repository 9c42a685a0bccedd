//! The checks that a host makes before it shows an icon. This module does not fetch anything: a
//! host that fetches an icon calls the checks at each step.
//!
//! Spec: Base Protocol, "Icons" (since 2025-11-25).

use super::base64;
use super::icon::Icon;
use super::image_head::{IconFormat, Size};
use crate::error::{Error, ErrorKind, Excerpt, Result};

/// Limits on icons, and the accepted formats.
///
/// # Examples
///
/// ```
/// use mcplink::schema::{Icon, IconFormat, IconLimits};
///
/// let mut limits = IconLimits::default();
/// limits.max_bytes = 4;
/// limits.formats = vec![IconFormat::Png];
///
/// let icon = Icon::new("data:image/png;base64,iVBORw0KGgo="); // 8 bytes
/// assert!(icon.data(&limits).is_some_and(|data| data.is_err()));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IconLimits {
    /// The maximum length of an icon's image file, in bytes. Defaults to 1 MiB. A host that fetches
    /// the file should stop when it has received more bytes.
    pub max_bytes: usize,
    /// The maximum width and height of an icon in pixels. Defaults to 1 024.
    pub max_side: u32,
    /// The maximum number of frames in an icon. Defaults to 1, which excludes animations.
    pub max_frames: u32,
    /// The accepted image formats. Defaults to PNG, JPEG and WebP.
    pub formats: Vec<IconFormat>,
}

impl Default for IconLimits {
    fn default() -> Self {
        Self {
            max_bytes: 1 << 20,
            max_side: 1024,
            max_frames: 1,
            formats: vec![IconFormat::Png, IconFormat::Jpeg, IconFormat::WebP],
        }
    }
}

/// The checks that a host makes before it shows an icon, in this order:
///
/// 1. [`is_from`](Self::is_from): the icon is from the server, or from a site that the host trusts.
/// 2. [`data`](Self::data) returns the bytes. Otherwise the host fetches them without cookies,
///    tokens or other credentials.
/// 3. [`may_redirect_to`](Self::may_redirect_to) at each redirection.
/// 4. [`check_image`](Self::check_image) before the bytes are decoded.
impl Icon {
    /// Whether the icon has the same origin (scheme, host name and port) as this `https:` URL. Pass
    /// the URL of the server, or of a site that the host trusts. Always true for a `data:` icon,
    /// which is not fetched.
    pub fn is_from(&self, url: &str) -> bool {
        self.data_text().is_some() || origin(&self.src).is_some_and(|own| origin(url) == Some(own))
    }

    /// Whether the host may follow a redirection of the icon's request to this URL. Redirection is
    /// allowed only within the icon's origin.
    pub fn may_redirect_to(&self, url: &str) -> bool {
        origin(&self.src).is_some_and(|own| origin(url) == Some(own))
    }

    /// Returns the bytes of a `data:` icon. Returns `None` if the icon has to be fetched.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Limit`] when the icon exceeds [`IconLimits::max_bytes`]. [`ErrorKind::Invalid`]
    /// when the data is not base64.
    pub fn data(&self, limits: &IconLimits) -> Option<Result<Vec<u8>>> {
        let text = self.data_text()?;
        Some(decode(text, limits))
    }

    /// Checks that fetched bytes are an icon that may be shown. The format has to be accepted, and
    /// has to be the claimed format. The length, the size in pixels and the number of frames have
    /// to be within the limits. The claimed formats are [`mime_type`](Self::mime_type) and the
    /// `Content-Type` of the response, if present.
    ///
    /// Only the head of the image is read. The image decoder has to handle invalid data after the
    /// head.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Limit`] when the image exceeds a limit. [`ErrorKind::Invalid`] when the format
    /// is not accepted or not the claimed format, or when the head can't be read.
    pub fn check_image(
        &self,
        bytes: &[u8],
        content_type: Option<&str>,
        limits: &IconLimits,
    ) -> Result<IconFormat> {
        if bytes.len() > limits.max_bytes {
            return Err(too_long(bytes.len(), limits));
        }
        let format = IconFormat::of(bytes).filter(|format| limits.formats.contains(format));
        let format = format.ok_or_else(|| invalid("its bytes are of no kind that is taken"))?;
        let mut claims = self.mime_type.as_deref().into_iter().chain(content_type);
        if let Some(claim) = claims.find(|claim| !format.is_named(claim)) {
            let (claim, found) = (Excerpt(claim), format.mime_type());
            return Err(invalid(format!("it claims to be {claim} and is {found}")));
        }
        let Some(size) = Size::of(format, bytes) else {
            return Err(invalid("its head can't be read"));
        };
        let Size {
            width,
            height,
            frames,
        } = size;
        for (noun, found, setting, max) in [
            (
                "pixels wide",
                width,
                "IconLimits::max_side",
                limits.max_side,
            ),
            (
                "pixels high",
                height,
                "IconLimits::max_side",
                limits.max_side,
            ),
            (
                "frames long",
                frames,
                "IconLimits::max_frames",
                limits.max_frames,
            ),
        ] {
            if found > max {
                let text = format!("icon is {found} {noun}, more than {setting} ({max})");
                return Err(Error::new(ErrorKind::Limit, text));
            }
        }
        Ok(format)
    }

    /// Returns the part of the icon's URI after `data:`.
    fn data_text(&self) -> Option<&str> {
        let (scheme, rest) = self.src.split_once(':')?;
        scheme.eq_ignore_ascii_case("data").then_some(rest)
    }
}

fn decode(text: &str, limits: &IconLimits) -> Result<Vec<u8>> {
    let (head, data) = text
        .split_once(',')
        .ok_or_else(|| invalid("a data: URI has a comma"))?;
    let is_base64 = head
        .rsplit_once(';')
        .is_some_and(|(_, last)| last.trim().eq_ignore_ascii_case("base64"));
    if !is_base64 {
        return Err(invalid("its data is not in base64"));
    }
    // Refuses a long text before it is decoded. The decoded bytes need about 3/4 of its length.
    if data.len() / 4 * 3 > limits.max_bytes.saturating_add(3) {
        return Err(too_long(data.len() / 4 * 3, limits));
    }
    let bytes = base64::decode("data of the icon", data)?;
    if bytes.len() > limits.max_bytes {
        return Err(too_long(bytes.len(), limits));
    }
    Ok(bytes)
}

fn too_long(bytes: usize, limits: &IconLimits) -> Error {
    let max = limits.max_bytes;
    let text = format!("icon has {bytes} bytes, more than IconLimits::max_bytes ({max})");
    Error::new(ErrorKind::Limit, text)
}

fn invalid(problem: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Invalid, format!("icon is refused: {problem}"))
}

/// Returns the host name, in lower case, and the port of an `https:` URL without user information.
/// Returns `None` for any other URL.
fn origin(url: &str) -> Option<(String, u16)> {
    let (scheme, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = &rest[..end];
    let is_plain = authority
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte));
    if !scheme.eq_ignore_ascii_case("https") || !is_plain {
        return None;
    }
    let is_port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if is_port(port) => (host, port),
        _ => (authority, ""),
    };
    let is_address = host.starts_with('[') && host.ends_with(']');
    if host.is_empty() || (host.contains([':', '[', ']']) && !is_address) {
        return None;
    }
    let port = if port.is_empty() {
        443
    } else {
        port.parse().ok()?
    };
    Some((host.to_ascii_lowercase(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32, height: u32, frames: Option<u32>) -> Vec<u8> {
        fn chunk(name: &[u8], data: &[u8]) -> Vec<u8> {
            let length = u32::try_from(data.len()).expect("short").to_be_bytes();
            [&length, name, data, &[0; 4]].concat()
        }
        let size = [width.to_be_bytes(), height.to_be_bytes()].concat();
        let head = [size.as_slice(), &[8, 6, 0, 0, 0]].concat();
        let animation = frames.map(|frames| {
            let data = [frames.to_be_bytes(), [0; 4]].concat();
            chunk(b"acTL", &data)
        });
        [
            b"\x89PNG\r\n\x1a\n".to_vec(),
            chunk(b"IHDR", &head),
            chunk(b"tEXt", b"odd"),
            animation.unwrap_or_default(),
            chunk(b"IDAT", &[0]),
        ]
        .concat()
    }

    fn jpeg(width: u16, height: u16) -> Vec<u8> {
        let size = [height.to_be_bytes(), width.to_be_bytes()].concat();
        [
            &[
                0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xff, 0xc2, 0, 11, 8,
            ],
            size.as_slice(),
            &[1, 1, 0x11, 0],
        ]
        .concat()
    }

    fn webp(chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
        let mut bytes = b"RIFF\0\0\0\0WEBP".to_vec();
        for (name, data) in chunks {
            bytes.extend(*name);
            bytes.extend(u32::try_from(data.len()).expect("short").to_le_bytes());
            bytes.extend(*data);
            bytes.extend(vec![0; data.len() % 2]);
        }
        bytes
    }

    fn extended(flags: u8, frames: usize) -> Vec<u8> {
        let head = [flags, 0, 0, 0, 15, 0, 0, 31, 0, 0];
        let frame: (&[u8; 4], &[u8]) = (b"ANMF", &[0; 3]);
        let head: (&[u8; 4], &[u8]) = (b"VP8X", &head);
        webp(&[vec![head], vec![frame; frames]].concat())
    }

    fn check(bytes: &[u8]) -> Result<IconFormat> {
        Icon::new("https://a/b").check_image(bytes, None, &IconLimits::default())
    }

    // M-ICON-C-01, M-ICON-C-09, L-ICON-C-01, L-ICON-C-03
    #[test]
    fn a_kind_is_told_by_the_bytes_and_held_against_what_is_claimed() {
        let lossy = [&[0, 0, 0, 0x9d, 0x01, 0x2a, 16, 0, 32, 0][..]].concat();
        let lossless = [0x2f, 15, 0xc0, 0x07, 0];
        for (bytes, format) in [
            (png(16, 32, None), IconFormat::Png),
            (jpeg(16, 32), IconFormat::Jpeg),
            (webp(&[(b"VP8 ", &lossy)]), IconFormat::WebP),
            (webp(&[(b"VP8L", &lossless)]), IconFormat::WebP),
            (extended(0, 0), IconFormat::WebP),
        ] {
            assert_eq!(check(&bytes).expect("an image"), format);
            let size = Size::of(format, &bytes).expect("a size");
            assert_eq!((size.width, size.height), (16, 32), "{format:?}");
        }
        for other in [
            "<html><script>1</script></html>",
            "GIF89a",
            "",
            "\u{89}PNG",
            "BM",
            "<svg xmlns='http://www.w3.org/2000/svg'/>",
        ] {
            let error = check(other.as_bytes()).expect_err(other);
            assert_eq!(error.kind(), ErrorKind::Invalid, "{other}");
        }
        let claimed = |icon: Option<&str>, came: Option<&str>, bytes: &[u8]| {
            let mut icon = Icon::new("https://a/b").mime_type(icon.unwrap_or("image/jpg"));
            if came.is_some() {
                icon.mime_type = None;
            }
            icon.check_image(bytes, came, &IconLimits::default())
        };
        assert!(claimed(Some("image/png"), None, b"<html>not a picture").is_err());
        assert!(claimed(Some("image/png"), None, &jpeg(1, 1)).is_err());
        assert!(claimed(None, None, &jpeg(1, 1)).is_ok());
        assert!(claimed(None, Some("Image/JPEG; q=1"), &jpeg(1, 1)).is_ok());
        assert!(claimed(None, Some("text/html"), &jpeg(1, 1)).is_err());
    }

    #[test]
    fn svg_is_taken_only_by_hosts_that_ask_for_it() {
        let limits = IconLimits {
            formats: vec![IconFormat::Svg],
            ..IconLimits::default()
        };
        let icon = Icon::new("https://a/b").mime_type("image/svg+xml");
        for svg in [
            "<svg/>",
            "\u{feff}<?xml version='1.0'?>\n<!-- a -->\n<!DOCTYPE svg PUBLIC 'x'>\n<svg width='1'>",
        ] {
            let taken = icon.check_image(svg.as_bytes(), None, &limits);
            assert_eq!(taken.expect(svg), IconFormat::Svg);
        }
        for other in [
            "<svgx>",
            "<html><svg/></html>",
            "<!-- <svg/>",
            "<!DOCTYPE svg [<!ENTITY a 'b'>]><svg/>",
        ] {
            assert!(
                icon.check_image(other.as_bytes(), None, &limits).is_err(),
                "{other}"
            );
        }
        assert!(icon.check_image(&png(1, 1, None), None, &limits).is_err());
    }

    // M-ICON-C-06, L-ICON-C-03
    #[test]
    fn an_icon_is_bounded_in_bytes_size_and_frames() {
        fn limit(bytes: &[u8], setting: &str) {
            let error = check(bytes).expect_err(setting);
            assert_eq!(error.kind(), ErrorKind::Limit);
            assert!(error.to_string().contains(setting), "{error}");
        }
        assert!(check(&png(1024, 1024, Some(1))).is_ok());
        limit(&png(1025, 1, None), "IconLimits::max_side (1024)");
        limit(&png(1, u32::MAX, None), "IconLimits::max_side (1024)");
        limit(&jpeg(1, 65535), "IconLimits::max_side (1024)");
        limit(&png(1, 1, Some(2)), "IconLimits::max_frames (1)");
        assert!(check(&extended(2, 1)).is_ok());
        limit(&extended(2, 300), "IconLimits::max_frames (1)");
        limit(
            &[png(1, 1, None), vec![0; 1 << 20]].concat(),
            "IconLimits::max_bytes (1048576)",
        );
        let data = |bytes: usize| {
            let text = base64::encode(&vec![7; bytes]);
            let icon = Icon::new(format!("data:image/png;base64,{text}"));
            icon.data(&IconLimits::default()).expect("it is here")
        };
        assert_eq!(data(1 << 20).expect("just fits").len(), 1 << 20);
        for too_many in [(1 << 20) + 1, 1 << 24] {
            assert_eq!(
                data(too_many).expect_err("too many").kind(),
                ErrorKind::Limit
            );
        }
    }

    #[test]
    fn a_head_that_is_cut_or_lies_is_refused() {
        for whole in [png(4, 4, Some(1)), jpeg(4, 4), extended(2, 3)] {
            for end in 0..whole.len() {
                _ = check(&whole[..end]);
            }
            for at in 0..whole.len() {
                for byte in [0, 1, 0x7f, 0x80, 0xff] {
                    let mut odd = whole.clone();
                    odd[at] = byte;
                    _ = check(&odd);
                }
            }
            assert!(check(&whole[..13]).is_err());
        }
    }

    // M-ICON-C-05, M-ICON-C-08, M-ICON-C-10, L-ICON-C-03, L-ICON-C-05
    #[test]
    fn an_icon_stays_at_its_origin() {
        fn check(src: &str, url: &str, expected: bool) {
            let icon = Icon::new(src);
            assert_eq!(icon.is_from(url), expected, "{src} {url}");
            assert_eq!(icon.may_redirect_to(url), expected, "{src} {url}");
        }
        let src = "https://example.com/icon.png";
        for same in [
            "https://example.com",
            "HTTPS://EXAMPLE.com:443/mcp?x#y",
            "https://example.com?a",
        ] {
            check(src, same, true);
        }
        for other in [
            "http://example.com/icon.png",
            "https://example.com:8443/",
            "https://www.example.com/",
            "https://example.com.evil.org/",
            "https://evil.org/example.com",
            "https://example.com@evil.org/",
            "https://user:pw@example.com/",
            "https://example.com\\@evil.org/",
            "https://example.com:99999/",
            "https://example.com:443:1/",
            "https:///icon.png",
            "https://",
            "ftp://example.com/",
            "javascript:1",
            "example.com",
            "",
        ] {
            check(src, other, false);
        }
        for nowhere in [
            "http://example.com/i",
            "https://me@example.com/i",
            "javascript:1",
            "",
        ] {
            check(nowhere, nowhere, false);
        }
        check("https://[::1]:8443/a", "https://[::1]:8443/b", true);
        check("https://[::1]:8443/a", "https://[::1]/b", false);
    }

    #[test]
    fn an_icon_that_is_its_own_data_needs_no_fetching() {
        let icon = Icon::new("data:image/png;base64,iVBORw0KGgo=");
        assert!(icon.is_from("https://anywhere.example"));
        assert!(!icon.may_redirect_to("https://anywhere.example"));
        let bytes = icon.data(&IconLimits::default()).expect("here");
        assert_eq!(bytes.expect("base64"), b"\x89PNG\r\n\x1a\n");
        assert!(
            Icon::new("https://a")
                .data(&IconLimits::default())
                .is_none()
        );
        for odd in ["data:", "data:image/png,abc", "data:image/png;base64,!!!"] {
            let decoded = Icon::new(odd).data(&IconLimits::default()).expect(odd);
            assert_eq!(decoded.expect_err(odd).kind(), ErrorKind::Invalid);
        }
    }
}
