//! URIs of resources, and URI templates.
//!
//! A template of RFC 6570 is used in reverse: the values of its variables are read from a URI that
//! matches the template. These expressions are supported:
//!
//! | expression | matches |
//! |---|---|
//! | `{id}`, `{a,b}` | text without `/`, `?`, `#`; percent-decoded |
//! | `{+path}` | any text without `?` and `#`, not decoded; at most once in a template |
//! | `{/a,b}` | `/` and text, for each; optional at the end of the path |
//! | `{.ext}` | `.` and text without a further `.`; optional at the end of the path |
//! | `{?a,b}` | a query with any of these names, each at most once; decoded; only at the end |
//!
//! If a URI can be matched, a match is found. If a URI can be matched in several ways, expressions
//! before a `{+…}` match as little as possible. The `{+…}` and all other expressions match as much
//! as possible, from left to right.
//!
//! **Complexity:** for each expression and each text between expressions, the time is linear in the
//! length of the URI, and the memory is one bit for each byte of the URI.
//!
//! Spec: RFC 3986; RFC 6570; Server Features, "Resources" (every revision).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Error, Excerpt, Result};
use crate::schema::url::{
    has_whole_escapes, is_scheme, is_uri_byte, normalized_escapes, percent_decoded,
};

/// Returns whether a text has the form of an absolute URI: a scheme, and then only characters that
/// URIs may contain. Letters beyond ASCII are accepted, since many peers send them unencoded.
pub(super) fn is_uri(text: &str) -> bool {
    let (scheme, rest) = text.split_once(':').unwrap_or_default();
    is_scheme(scheme)
        && !rest.is_empty()
        && rest.bytes().all(|b| !b.is_ascii() || is_uri_byte(b))
        && has_whole_escapes(rest)
}

/// Describes why a text is not the URI of a resource. The text is one for which [`is_uri`] returns
/// false.
pub(super) fn why_no_uri(text: &str) -> String {
    let (scheme, rest) = text.split_once(':').unwrap_or_default();
    let foreign = rest
        .chars()
        .find(|c| c.is_ascii() && !is_uri_byte(*c as u8));
    match foreign {
        _ if !is_scheme(scheme) || rest.is_empty() => "use scheme:rest (RFC 3986)".to_owned(),
        Some(' ') => "write a space as %20 (RFC 3986)".to_owned(),
        Some(other) => format!("write {other:?} as %{:02X} (RFC 3986)", u32::from(other)),
        None => "write '%' as %25, or two hexadecimal digits after it (RFC 3986)".to_owned(),
    }
}

/// A URI template.
#[derive(Debug)]
pub(super) struct UriTemplate {
    /// The variants of the path. The first variant has all optional parts of the path. Each later
    /// variant has one optional part less.
    paths: Vec<Path>,
    /// The same variants, in which the literal parts of the path are normalized. Normalized URIs
    /// are matched against these variants.
    normalized: Vec<Path>,
    /// The names of the variables in the query. `None` when the template has no query.
    query: Option<Vec<String>>,
    names: Arc<[String]>,
}

/// The parts of a path: texts and variables. Invariant: no two variables are adjacent.
#[derive(Debug)]
struct Path {
    parts: Vec<Part>,
    /// The index of the first part that matches as much text as possible. Variables before this
    /// index match as little text as possible.
    greedy_from: usize,
}

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(String),
    Variable { name: String, kind: Kind },
}

impl Part {
    fn is_reserved(&self) -> bool {
        matches!(self, Self::Variable { kind, .. } if *kind == Kind::Reserved)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Simple,
    /// A value whose text in the URI contains no `/`, `?`, `#` or dot. The value is
    /// percent-decoded.
    Extension,
    /// A value that may contain `/`, but no `?` or `#`. The value is not percent-decoded.
    Reserved,
}

impl Kind {
    /// Returns whether a value of this kind may contain this byte.
    fn takes(self, byte: u8) -> bool {
        match self {
            Self::Simple => !b"/?#".contains(&byte),
            Self::Extension => !b"/?#.".contains(&byte),
            Self::Reserved => !b"?#".contains(&byte),
        }
    }

    fn value(self, text: &str) -> Option<String> {
        match self {
            Self::Reserved => Some(text.to_owned()),
            _ => percent_decoded(text),
        }
    }
}

pub(super) type Values = BTreeMap<String, String>;

impl UriTemplate {
    pub(super) fn parse(template: &str) -> Result<Self> {
        Parser::default().parse(template).map_err(|problem| {
            Error::invalid(format!("uri template '{}': {problem}", Excerpt(template)))
        })
    }

    /// Returns the names of all variables in the template.
    pub(super) fn names(&self) -> &Arc<[String]> {
        &self.names
    }

    /// Returns the values of the template's variables in a URI, or `None` when the URI does not
    /// match.
    pub(super) fn matches(&self, uri: &str) -> Option<Values> {
        self.matches_in(&self.paths, uri)
    }

    /// Returns the values of the template's variables in a normalized URI, or `None` when the URI
    /// does not match. The URI is compared with the normalized texts of the template.
    pub(super) fn matches_normalized(&self, uri: &str) -> Option<Values> {
        self.matches_in(&self.normalized, uri)
    }

    fn matches_in(&self, paths: &[Path], uri: &str) -> Option<Values> {
        let (path, query) = match (&self.query, uri.split_once('?')) {
            (Some(names), Some((path, query))) => (path, query_values(names, query)?),
            _ => (uri, Values::new()),
        };
        let mut values = paths.iter().find_map(|shape| shape.matches(path))?;
        values.extend(query);
        Some(values)
    }
}

fn query_values(names: &[String], query: &str) -> Option<Values> {
    let mut values = Values::new();
    if query.contains('#') {
        return None;
    }
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let known = names.iter().find(|known| *known == name)?;
        let value = percent_decoded(value)?;
        if values.insert(known.clone(), value).is_some() {
            return None;
        }
    }
    Some(values)
}

impl Path {
    fn new(parts: Vec<Part>) -> Self {
        let greedy_from = parts.iter().position(Part::is_reserved).unwrap_or(0);
        Self { parts, greedy_from }
    }

    /// Returns the path with normalized texts.
    fn normalized(&self) -> Self {
        let parts = self
            .parts
            .iter()
            .enumerate()
            .map(|(index, part)| match part {
                Part::Text(text) if index == 0 => Part::Text(normalized_beginning(text)),
                Part::Text(text) => Part::Text(normalized_escapes(text)),
                variable => variable.clone(),
            });
        Self::new(parts.collect())
    }

    fn matches(&self, path: &str) -> Option<Values> {
        // A fast path: most URIs that don't match differ at the beginning.
        if let Some(Part::Text(text)) = self.parts.first()
            && !path.starts_with(text)
        {
            return None;
        }
        let bytes = path.as_bytes();
        let fits = self.fits(bytes);
        if !fits[0].has(0) {
            return None;
        }
        let mut values = Values::new();
        let mut at = 0;
        for (index, part) in self.parts.iter().enumerate() {
            at = match part {
                Part::Text(text) => at + text.len(),
                Part::Variable { name, kind } => {
                    let run = bytes[at..].iter().take_while(|byte| kind.takes(**byte));
                    let longest = at + run.count();
                    let behind = &fits[index + 1];
                    let mut ends = (at + 1..=longest).filter(|end| behind.has(*end));
                    let end = if index < self.greedy_from {
                        ends.next()
                    } else {
                        ends.next_back()
                    }?;
                    values.insert(name.clone(), kind.value(&path[at..end])?);
                    end
                }
            };
        }
        Some(values)
    }

    /// Returns the positions in `path` at which the parts may begin. The result has a set for each
    /// part: from each position in the set, this part and all later parts match the rest of `path`.
    /// A last set contains only the end of `path`.
    fn fits(&self, path: &[u8]) -> Vec<Positions> {
        let mut end = Positions::none_of(path.len() + 1);
        end.add(path.len());
        let mut fits = vec![end];
        for part in self.parts.iter().rev() {
            let behind = &fits[fits.len() - 1];
            let mut positions = Positions::none_of(path.len() + 1);
            match part {
                Part::Text(text) => {
                    let starts = path.windows(text.len()).enumerate();
                    starts
                        .filter(|(at, window)| {
                            *window == text.as_bytes()
                                && behind.has(at + text.len())
                                && !splits_encoded(path, *at)
                        })
                        .for_each(|(at, _)| positions.add(at));
                }
                Part::Variable { kind, .. } => {
                    let mut ends = false;
                    for (at, byte) in path.iter().enumerate().rev() {
                        ends = (ends || behind.has(at + 1)) && kind.takes(*byte);
                        if ends {
                            positions.add(at);
                        }
                    }
                }
            }
            fits.push(positions);
        }
        fits.reverse();
        fits
    }
}

/// Normalizes the text of a template before its first variable. The scheme and the host name become
/// lower-case, and percent-encoding is normalized.
fn normalized_beginning(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once(':') else {
        return normalized_escapes(text);
    };
    let authority = rest.strip_prefix("//");
    let host_ends = authority.map_or(0, |rest| 2 + rest.find('/').unwrap_or(rest.len()));
    let (authority, path) = rest.split_at(host_ends);
    // The user info before `@` is case-sensitive.
    let host = authority.rfind('@').map_or(0, |at| at + 1);
    let (user, host) = authority.split_at(host);
    // The letter of an escape may be a capital.
    let host = normalized_escapes(host).to_ascii_lowercase();
    let host = normalized_escapes(&host);
    let scheme = scheme.to_ascii_lowercase();
    format!("{scheme}:{user}{host}{}", normalized_escapes(path))
}

/// Returns whether a position in a path is within a percent-encoded byte.
fn splits_encoded(path: &[u8], at: usize) -> bool {
    path[at.saturating_sub(2)..at].contains(&b'%')
}

/// A set of positions in a text, as a bit set.
struct Positions(Vec<u64>);

impl Positions {
    fn none_of(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    fn add(&mut self, position: usize) {
        self.0[position / 64] |= 1 << (position % 64);
    }

    fn has(&self, position: usize) -> bool {
        self.0[position / 64] & (1 << (position % 64)) != 0
    }
}

/// A parser that splits a template into texts and variables.
#[derive(Default)]
struct Parser {
    parts: Vec<Part>,
    /// The indexes of the optional parts at the end of the path. The path of a URI may end before
    /// each of these parts.
    ends: Vec<usize>,
    query: Option<Vec<String>>,
    names: Vec<String>,
}

impl Parser {
    fn parse(mut self, template: &str) -> Result<UriTemplate, String> {
        let mut rest = template;
        while let Some((text, after)) = rest.split_once('{') {
            self.text(text)?;
            let (expression, after) = after
                .split_once('}')
                .ok_or("an expression is not closed with '}'")?;
            self.expression(expression)?;
            rest = after;
        }
        self.text(rest)?;
        let sample: String = self
            .parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => text,
                Part::Variable { .. } => "x",
            })
            .collect();
        if !is_uri(&sample) {
            let why = why_no_uri(&sample);
            return Err(format!("it does not give the address of a resource: {why}"));
        }
        let mut paths = vec![Path::new(self.parts.clone())];
        for end in self.ends.iter().rev() {
            self.parts.truncate(*end);
            paths.push(Path::new(self.parts.clone()));
        }
        let normalized = paths.iter().map(Path::normalized).collect();
        Ok(UriTemplate {
            paths,
            normalized,
            query: self.query,
            names: self.names.into(),
        })
    }

    fn text(&mut self, text: &str) -> Result<(), String> {
        if text.is_empty() {
            return Ok(());
        }
        if text.contains('}') {
            return Err("'}' without '{'".to_owned());
        }
        if self.query.is_some() {
            return Err("{?…} has to be at the end".to_owned());
        }
        self.ends.clear();
        self.push_text(text);
        Ok(())
    }

    fn push_text(&mut self, more: &str) {
        match self.parts.last_mut() {
            Some(Part::Text(text)) => text.push_str(more),
            _ => self.parts.push(Part::Text(more.to_owned())),
        }
    }

    fn expression(&mut self, expression: &str) -> Result<(), String> {
        let (operator, names) = match expression.chars().next() {
            Some(first @ ('+' | '/' | '.' | '?')) => (Some(first), &expression[1..]),
            _ => (None, expression),
        };
        if self.query.is_some() {
            return Err("{?…} has to be at the end".to_owned());
        }
        let has_query_text = |part: &Part| matches!(part, Part::Text(text) if text.contains('?'));
        if operator == Some('?') && self.parts.iter().any(has_query_text) {
            // The query of a URI begins at its first `?`, so no URI could match.
            return Err("text with '?' stands before {?…}".to_owned());
        }
        for (index, name) in names.split(',').enumerate() {
            self.declare(name, expression)?;
            match operator {
                Some('?') => self.query.get_or_insert_default().push(name.to_owned()),
                Some('+') => {
                    if self.parts.iter().any(Part::is_reserved) {
                        return Err("only one variable may be a {+…}".to_owned());
                    }
                    self.ends.clear();
                    self.variable(name, Kind::Reserved)?;
                }
                Some(prefix @ ('/' | '.')) => {
                    // The prefix is optional, so it is not joined with the text before it.
                    self.ends.push(self.parts.len());
                    self.parts.push(Part::Text(prefix.to_string()));
                    let kind = if prefix == '.' {
                        Kind::Extension
                    } else {
                        Kind::Simple
                    };
                    self.variable(name, kind)?;
                }
                _ => {
                    self.ends.clear();
                    if index > 0 {
                        self.push_text(",");
                    }
                    self.variable(name, Kind::Simple)?;
                }
            }
        }
        Ok(())
    }

    fn declare(&mut self, name: &str, expression: &str) -> Result<(), String> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        if name.is_empty() || !name.chars().all(allowed) {
            return Err(format!(
                "{{{}}} is not understood: use {{var}}, {{+var}}, {{/var}}, {{.var}} or {{?var}}",
                Excerpt(expression)
            ));
        }
        if self.names.iter().any(|known| known == name) {
            return Err(format!("{name} is there twice"));
        }
        self.names.push(name.to_owned());
        Ok(())
    }

    fn variable(&mut self, name: &str, kind: Kind) -> Result<(), String> {
        if let Some(Part::Variable { name: before, .. }) = self.parts.last() {
            return Err(format!(
                "no text tells where {} ends and {name} begins",
                before
            ));
        }
        let name = name.to_owned();
        self.parts.push(Part::Variable { name, kind });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // M-RES-S-07, M-RES-S-11, L-RES-S-05, L-RES-S-07
    #[test]
    fn addresses_have_a_scheme_and_no_odd_characters() {
        for good in [
            "file:///a",
            "x:y",
            "git+ssh://h/p?q#f",
            "a://ä",
            "urn:isbn:1",
            "x://[::1]/%20%ff",
        ] {
            assert!(is_uri(good), "{good}");
        }
        for bad in [
            "",
            "a",
            "a:",
            "/a",
            ":a",
            "my scheme://x",
            "1a:b",
            "a:b c",
            "a:%2",
            "a:%zz",
            "a:<b>",
            "a:\n",
            "é:a",
        ] {
            assert!(!is_uri(bad), "{bad}");
        }
        for (bad, why) in [
            ("x://a b", "write a space as %20"),
            ("a:<b>", "write '<' as %3C"),
            ("a:\n", "write '\\n' as %0A"),
            (
                "a:%2",
                "write '%' as %25, or two hexadecimal digits after it",
            ),
            ("my scheme://x", "use scheme:rest"),
            ("a:", "use scheme:rest"),
        ] {
            assert_eq!(why_no_uri(bad), format!("{why} (RFC 3986)"));
        }
    }

    #[test]
    fn templates_match_what_they_give() {
        fn check(template: &str, uri: &str, expected: Option<&[(&str, &str)]>) {
            let values = UriTemplate::parse(template).expect(template).matches(uri);
            let expected = expected.map(|pairs| {
                let owned = pairs
                    .iter()
                    .map(|(name, value)| (name.to_string(), value.to_string()));
                owned.collect::<Values>()
            });
            assert_eq!(values, expected, "{template} on {uri}");
        }
        check("a://b", "a://b", Some(&[]));
        check("a://b", "a://bc", None);
        check("a://{x}", "a://1", Some(&[("x", "1")]));
        check("a://{x}", "a://", None);
        check("a://{x}", "a://1/2", None);
        check("a://{x}", "a://%C3%A4%2F", Some(&[("x", "ä/")]));
        check("a://{x}", "a://%ff", None);
        check("a://{x}/c", "a://1/c", Some(&[("x", "1")]));
        check("a://{x}/c", "a://1/c/c", None);
        check(
            "a://{x}/c/{y}",
            "a://1/c/2",
            Some(&[("x", "1"), ("y", "2")]),
        );
        check("a://{x,y}", "a://1,2", Some(&[("x", "1"), ("y", "2")]));
        check(
            "a://{x}-{y}",
            "a://1-2-3",
            Some(&[("x", "1-2"), ("y", "3")]),
        );
        check("a:///{+p}", "a:///1/2%20", Some(&[("p", "1/2%20")]));
        check("a:///{+p}", "a:///1?2", None);
        check(
            "a:///{x}/{+p}/e",
            "a:///1/2/3/e",
            Some(&[("x", "1"), ("p", "2/3")]),
        );
        check(
            "a:///{+p}x{y}",
            "a:///1x/2x3",
            Some(&[("p", "1x/2"), ("y", "3")]),
        );
        check("a://b{/x,y}", "a://b/1/2", Some(&[("x", "1"), ("y", "2")]));
        check("a://b{/x,y}", "a://b/1", Some(&[("x", "1")]));
        check("a://b{/x,y}", "a://b", Some(&[]));
        check("a://b{/x,y}", "a://b/1/2/3", None);
        check(
            "a://{n}{.ext}",
            "a://b.tar.gz",
            Some(&[("n", "b.tar"), ("ext", "gz")]),
        );
        check("a://{n}{.ext}", "a://b", Some(&[("n", "b")]));
        check(
            "a://{n}{.ext}/{+p}",
            "a://b.tar.gz/c/d",
            Some(&[("n", "b.tar"), ("ext", "gz"), ("p", "c/d")]),
        );
        check("a://{n}-{x}", "a://-1-", None);
        check("a://{n}-{x}", "a://1--", Some(&[("n", "1"), ("x", "-")]));
        check("a://{n}4{x}", "a://1%412", None);
        check(
            "a://{n}4{x}",
            "a://4%414ä",
            Some(&[("n", "4A"), ("x", "ä")]),
        );
        check(
            "a://{n}{?q,r}",
            "a://b?r=2&q=%31",
            Some(&[("n", "b"), ("q", "1"), ("r", "2")]),
        );
        check("a://{n}{?q,r}", "a://b", Some(&[("n", "b")]));
        check("a://{n}{?q,r}", "a://b?s=1", None);
        check("a://{n}{?q,r}", "a://b?q=1&q=2", None);
        check("a://{n}", "a://b?q=1", None);
    }

    // RFC 3986, section 6.2; RFC 6570, section 3.1
    #[test]
    fn templates_match_other_spellings_of_what_they_give() {
        fn check(template: &str, uri: &str, expected: Option<&[(&str, &str)]>) {
            let read = UriTemplate::parse(template).expect(template);
            let values = read.matches_normalized(&crate::schema::url::normalized(uri));
            let expected = expected.map(|pairs| {
                let owned = pairs
                    .iter()
                    .map(|(name, value)| (name.to_string(), value.to_string()));
                owned.collect::<Values>()
            });
            assert_eq!(values, expected, "{template} on {uri}");
        }
        let menu: &[_] = &[("day", "mon")];
        for template in ["docs://café/{day}", "DOCS://caf%c3%a9/{day}"] {
            for uri in [
                "docs://caf%C3%A9/mon",
                "docs://café/%6Don",
                "Docs://café/./mon",
            ] {
                check(template, uri, Some(menu));
            }
        }
        check("a://{x}/b", "A://Host/b", Some(&[("x", "host")]));
        check("a://B/{+p}", "a://b/c%2fd", Some(&[("p", "c%2Fd")]));
        check("a://b/{x}", "a://b/c%2Fd", Some(&[("x", "c/d")]));
        check("a://b/~{x}", "a://b/%7Ec", Some(&[("x", "c")]));
        check("a://b/C{x}", "a://b/cd", None);
        check("a://%42/{x}", "a://b/c", Some(&[("x", "c")]));
    }

    #[test]
    fn templates_that_could_be_read_in_two_ways_are_refused() {
        for template in [
            "a://{x}{y}",
            "a://{x",
            "a://x}",
            "a://{}",
            "a://{x*}",
            "a://{x:3}",
            "a://{&x}",
            "a://{?x}/y",
            "a://{?x}{y}",
            // Found by the fuzz target uri_template: no URI could match.
            "a://x?y{?z}",
            "a://{+x}/{+y}",
            "a://{x}/{x}",
            "{x}",
            "no scheme/{x}",
            "a b:{x}",
        ] {
            let error = UriTemplate::parse(template).expect_err(template);
            assert!(error.to_string().starts_with("uri template '"), "{error}");
        }
    }

    #[test]
    fn matching_takes_linear_time() {
        let template = UriTemplate::parse("a://{a}b{c}b{d}b{e}b{f}b{g}c").expect("a template");
        let uri = format!("a://{}", "b".repeat(1 << 20));
        assert_eq!(template.matches(&uri), None);
    }
}
