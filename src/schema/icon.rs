//! Icons of implementations, tools, prompts and resources.
//!
//! Spec: Base Protocol, "Icons" (since 2025-11-25).

use super::json::Extra;

/// An icon to show beside a name. Since 2025-11-25.
///
/// Where it points to and what is there come from the peer: nothing is fetched here, and who fetches it has to distrust it. The methods
/// say what may be fetched, and what may be shown.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Icon {
    /// Where it is: an `https:` or `data:` URI.
    pub src: String,
    /// What it is, when the server of the icon doesn't tell well.
    pub mime_type: Option<String>,
    /// The sizes it fits, as `48x48` or `any`.
    pub sizes: Option<Vec<String>>,
    /// The background that it is made for; any when absent.
    pub theme: Option<IconTheme>,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(Icon { src, mime_type = "mimeType", sizes, theme, ..extra });

open_enum! {
    /// The background that an icon is made for.
    pub enum IconTheme {
        /// A light one.
        Light = "light",
        /// A dark one.
        Dark = "dark",
    }
}

impl Icon {
    /// Makes an icon at a URI.
    pub fn new(src: impl Into<String>) -> Self {
        Self {
            src: src.into(),
            mime_type: None,
            sizes: None,
            theme: None,
            extra: Extra::new(),
        }
    }

    setters! {
        /// Says what it is.
        mime_type: String,
        /// Names the sizes it fits.
        sizes: Vec<String>,
        /// Names the background it is made for.
        theme: IconTheme,
    }

    /// Whether the scheme of [`src`](Self::src) is one that may be followed: `https:` or `data:`.
    pub fn has_allowed_scheme(&self) -> bool {
        let scheme = self.src.split_once(':').map(|(scheme, _)| scheme);
        scheme.is_some_and(|it| it.eq_ignore_ascii_case("https") || it.eq_ignore_ascii_case("data"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // M-ICON-C-04
    #[test]
    fn icons_are_followed_by_https_and_data_only() {
        for allowed in ["https://a/b", "data:image/png;base64,AA==", "HTTPS://a"] {
            assert!(Icon::new(allowed).has_allowed_scheme(), "{allowed}");
        }
        for refused in [
            "http://a",
            "javascript:1",
            "file:///a",
            "ftp://a",
            "ws://a",
            "app:a",
            "a.png",
            "",
            " https://a",
        ] {
            assert!(!Icon::new(refused).has_allowed_scheme(), "{refused}");
        }
    }

    // M-ICON-B-12
    #[test]
    fn sizes_are_a_list() {
        let text = r#"{"src":"data:,","sizes":["48x48"],"theme":"sepia","x":1}"#;
        let icon: Icon = serde_json::from_str(text).expect("decodes");
        assert_eq!(serde_json::to_string(&icon).expect("JSON"), text);
        assert!(serde_json::from_str::<Icon>(r#"{"src":"data:,","sizes":"48x48"}"#).is_err());
    }
}
