//! Icons of implementations, tools, prompts and resources.
//!
//! Spec: Base Protocol, "Icons" (since 2025-11-25).

object! {
    /// An icon to show beside a name. Since 2025-11-25.
    ///
    /// The URI and the image come from the peer and are not trusted. This library does not fetch
    /// icons. The methods of this type check whether the host may fetch a URI, and whether it may
    /// show an image.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{Icon, IconTheme, Implementation};
    /// use mcplink::server::Server;
    ///
    /// let icon = Icon::new("https://example.com/dark.png")
    ///     .sizes(["48x48".to_owned()])
    ///     .theme(IconTheme::Dark);
    /// assert!(icon.has_allowed_scheme() && icon.is_from("https://example.com/mcp"));
    /// let server = Server::builder("clock", "1.0")
    ///     .info(Implementation::new("clock", "1.0").icons([icon]))
    ///     .build()?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct Icon {
        /// The URI of the icon's image: `https:` or `data:`.
        pub src: String,
        /// The MIME type of the icon's image. Needed if the web server sends no suitable MIME type.
        pub mime_type?: String = "mimeType",
        /// The sizes for which the icon is suitable, for example `48x48` or `any`.
        pub sizes?: Vec<String>,
        /// The theme (light or dark background) for which the icon is made. If absent, the icon
        /// fits any theme.
        pub theme?: IconTheme,
        ..extra
    }

    /// Makes an icon from its URI.
    pub fn new(src: impl Into<String>);
}

open_enum! {
    /// The theme for which an icon is made.
    pub enum IconTheme {
        /// A light background.
        Light = "light",
        /// A dark background.
        Dark = "dark",
    }
}

impl Icon {
    /// Whether the scheme of [`src`](Self::src) is allowed: `https:` or `data:`.
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
