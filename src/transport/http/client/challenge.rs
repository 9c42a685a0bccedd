//! Parser of the challenges in a server's response: the header field `WWW-Authenticate`.
//!
//! Spec: RFC 9110, sections 11.2 to 11.6.1; RFC 6750, section 3; RFC 9728, section 5.1; RFC 9449,
//! section 7.1.

use std::collections::BTreeSet;

/// One authentication scheme of a challenge.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Challenge {
    /// The name of the authentication scheme, in lower case.
    scheme: String,
    /// The parameters of the challenge, with names in lower case.
    params: Vec<(String, String)>,
}

impl Challenge {
    fn param(&self, name: &str) -> Option<&str> {
        let found = self.params.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| &**value)
    }
}

/// The OAuth demands of an MCP server in one response, combined from all challenges of the
/// response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Demand {
    /// The URL of the server's metadata.
    pub(crate) resource_metadata: Option<String>,
    /// The scopes that the operation needs. `None` if the server does not name the scopes.
    pub(crate) scopes: Option<BTreeSet<String>>,
    /// The reason why the token was refused, for example `insufficient_scope`.
    pub(crate) error: Option<String>,
    /// Whether the server requires tokens that are bound to a key (DPoP).
    pub(crate) wants_dpop: bool,
    /// Whether the server names an OAuth scheme.
    pub(crate) is_oauth: bool,
}

impl Demand {
    /// Returns the scopes that the operation needs, as a sentence, if the token lacks scopes.
    pub(super) fn needed_scopes(&self, operation: &str) -> Option<String> {
        if !self.is_for_more() {
            return None;
        }
        let scopes: Vec<&str> = self.scopes.iter().flatten().map(String::as_str).collect();
        Some(match &*scopes {
            [] => format!("{operation} needs scopes that the token lacks"),
            [one] => format!("{operation} needs the scope {one}"),
            all => format!("{operation} needs the scopes {}", all.join(" ")),
        })
    }

    /// Whether the server refused the token because the token lacks scopes.
    pub(crate) fn is_for_more(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }

    /// Reads the values of all `WWW-Authenticate` fields.
    pub(crate) fn read<'a>(values: impl Iterator<Item = &'a str>) -> Self {
        let mut demand = Self::default();
        let challenges = values.flat_map(challenges);
        let mut schemes = BTreeSet::new();
        for challenge in challenges {
            if !matches!(&*challenge.scheme, "bearer" | "dpop") {
                continue;
            }
            demand.is_oauth = true;
            let take = |own: &mut Option<String>, name: &str| {
                if own.is_none() {
                    *own = challenge.param(name).map(str::to_owned);
                }
            };
            take(&mut demand.resource_metadata, "resource_metadata");
            take(&mut demand.error, "error");
            if let (None, Some(scope)) = (&demand.scopes, challenge.param("scope")) {
                demand.scopes = Some(scopes(scope));
            }
            schemes.insert(challenge.scheme);
        }
        demand.wants_dpop = schemes.contains("dpop") && !schemes.contains("bearer");
        demand
    }
}

/// Splits a list of scopes at spaces.
pub(crate) fn scopes(text: &str) -> BTreeSet<String> {
    text.split_ascii_whitespace().map(str::to_owned).collect()
}

fn challenges(value: &str) -> Vec<Challenge> {
    let mut reader = Reader { rest: value };
    let mut found: Vec<Challenge> = Vec::new();
    loop {
        reader.skip(|c| matches!(c, ' ' | '\t' | ','));
        let word = reader.take(is_token).to_owned();
        if word.is_empty() {
            // At the end or at invalid syntax, the challenges read so far count.
            return found;
        }
        let Ok(value) = reader.value_behind_equals() else {
            return found;
        };
        match (value, found.last_mut()) {
            (Some(value), Some(challenge)) => {
                let name = word.to_ascii_lowercase();
                if challenge.param(&name).is_none() {
                    challenge.params.push((name, value));
                }
            }
            // A parameter without a scheme is ignored.
            (Some(_), None) => {}
            (None, _) => {
                found.push(Challenge {
                    scheme: word.to_ascii_lowercase(),
                    params: Vec::new(),
                });
                reader.skip(|c| matches!(c, ' ' | '\t'));
                reader.skip_token68();
            }
        }
    }
}

/// The error for a quoted string without its closing quote.
struct Unfinished;

/// A parser of a field value. Contains the rest of the value that was not read yet.
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn skip(&mut self, which: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(which);
    }

    fn take(&mut self, which: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !which(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// Reads `=` and the value after the sign: a token or a quoted string. Spaces are skipped.
    /// Consumes nothing if there is no `=`.
    fn value_behind_equals(&mut self) -> Result<Option<String>, Unfinished> {
        let blank = |c| matches!(c, ' ' | '\t');
        let Some(rest) = self.rest.trim_start_matches(blank).strip_prefix('=') else {
            return Ok(None);
        };
        let rest = rest.trim_start_matches(blank);
        let mut reader = Reader { rest };
        let value = match rest.strip_prefix('"') {
            Some(quoted) => reader.quoted(quoted).ok_or(Unfinished)?,
            None => reader.take(is_bare).to_owned(),
        };
        self.rest = reader.rest;
        Ok(Some(value))
    }

    fn quoted(&mut self, text: &'a str) -> Option<String> {
        let mut value = String::new();
        let mut chars = text.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.rest = &text[at + 1..];
                    return Some(value);
                }
                '\\' => value.push(chars.next()?.1),
                c => value.push(c),
            }
        }
        None
    }

    /// Skips credentials in the form `token68`, for example the `YII=` of `Negotiate YII=`. Skips
    /// nothing if the text that follows is neither a comma nor the end.
    fn skip_token68(&mut self) {
        let mut ahead = Reader { rest: self.rest };
        ahead.take(|c| c.is_ascii_alphanumeric() || "-._~+/".contains(c));
        ahead.skip(|c| c == '=');
        ahead.skip(|c| matches!(c, ' ' | '\t'));
        if ahead.rest.is_empty() || ahead.rest.starts_with(',') {
            self.rest = ahead.rest;
        }
    }
}

fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

/// Whether a character can be part of a value without quotes. URLs and scopes should be quoted, but
/// some servers send them without quotes.
fn is_bare(c: char) -> bool {
    !matches!(c, ' ' | '\t' | ',' | '"')
}

#[cfg(test)]
mod tests {
    use super::*;

    // M-ASD-C-07, L-AUTH-C-18
    #[test]
    fn challenges_are_read_in_every_form() {
        fn check(value: &str, expected: &[(&str, &[(&str, &str)])]) {
            let read = challenges(value);
            let read: Vec<_> = read
                .iter()
                .map(|challenge| {
                    let params = challenge.params.iter();
                    let params: Vec<_> = params.map(|(n, v)| (&**n, &**v)).collect();
                    (&*challenge.scheme, params)
                })
                .collect();
            let expected: Vec<_> = expected
                .iter()
                .map(|(scheme, params)| (*scheme, params.to_vec()))
                .collect();
            assert_eq!(read, expected, "{value}");
        }
        check("", &[]);
        check("Bearer", &[("bearer", &[])]);
        check("BEARER Realm=x", &[("bearer", &[("realm", "x")])]);
        check(
            r#"Bearer error="a, \"b\"" , scope = "x y",resource_metadata="https://h/x?a=b""#,
            &[(
                "bearer",
                &[
                    ("error", "a, \"b\""),
                    ("scope", "x y"),
                    ("resource_metadata", "https://h/x?a=b"),
                ],
            )],
        );
        check(
            r#"Negotiate YII=, Basic realm="a", Bearer scope="b", Odd"#,
            &[
                ("negotiate", &[]),
                ("basic", &[("realm", "a")]),
                ("bearer", &[("scope", "b")]),
                ("odd", &[]),
            ],
        );
        check("Negotiate, Bearer", &[("negotiate", &[]), ("bearer", &[])]);
        check("Bearer scope=\"never closed", &[("bearer", &[])]);
        check("Bearer scope=a, scope=b", &[("bearer", &[("scope", "a")])]);
        check("=x, Bearer", &[]);
        check("a=b, Bearer x=y", &[("bearer", &[("x", "y")])]);
        check("Bearer scope=", &[("bearer", &[])]);
        check(
            "Bearer resource_metadata=https://h/x?a=b, scope=files:read, error=x",
            &[(
                "bearer",
                &[
                    ("resource_metadata", "https://h/x?a=b"),
                    ("scope", "files:read"),
                    ("error", "x"),
                ],
            )],
        );
    }

    #[test]
    fn a_demand_is_put_together_from_all_fields() {
        let fields = [
            r#"Basic realm="x", scope="of basic""#,
            r#"Bearer error="insufficient_scope", scope="b a b""#,
            r#"Bearer resource_metadata="https://h/m", scope="c""#,
        ];
        let demand = Demand::read(fields.into_iter());
        assert_eq!(demand.error.as_deref(), Some("insufficient_scope"));
        assert_eq!(demand.scopes, Some(scopes("a b")));
        assert_eq!(demand.resource_metadata.as_deref(), Some("https://h/m"));
        assert!(demand.is_oauth && !demand.wants_dpop);
        assert!(Demand::read(["DPoP algs=\"ES256\""].into_iter()).wants_dpop);
        assert!(!Demand::read(["DPoP, Bearer"].into_iter()).wants_dpop);
        assert!(!Demand::read(["Basic realm=x"].into_iter()).is_oauth);
    }
}
