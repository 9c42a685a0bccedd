//! The front matter of `SKILL.md`: its extraction, and its comparison with an entry.
//!
//! Spec: Extensions, Skills, "Frontmatter", "Frontmatter Verification"; Agent Skills specification,
//! "SKILL.md format".

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::name::check_name;
use crate::error::{Error, ErrorKind, Excerpt, Result, SkillFault};
use crate::schema::JsonObject;

/// The maximum length of a description, in characters.
const MAX_DESCRIPTION_CHARS: usize = 1024;
/// The maximum number of members that an error text names.
const MAX_NAMED: usize = 5;

/// The parts of a `SKILL.md`: the YAML front matter and the Markdown text after it.
///
/// # Examples
///
/// ```
/// use mcplink::skills::FrontMatter;
///
/// let parts = FrontMatter::split("---\nname: a\n---\n# A\n")?;
/// assert_eq!(parts.yaml(), "name: a\n");
/// assert_eq!(parts.body(), "# A\n");
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrontMatter<'a> {
    yaml: &'a str,
    body: &'a str,
}

impl<'a> FrontMatter<'a> {
    /// Splits the text of a `SKILL.md`. The first line is `---`, after an optional byte order mark.
    /// The front matter ends before the next line `---`. Both lines may end in blanks.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when one of the two lines is missing.
    pub fn split(text: &'a str) -> Result<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.split_inclusive('\n');
        let first = lines.next().filter(|line| is_delimiter(line));
        let Some(first) = first else {
            return Err(invalid("SKILL.md does not begin with a line ---"));
        };
        let start = first.len();
        let mut end = start;
        for line in lines {
            if is_delimiter(line) {
                return Ok(Self {
                    yaml: &text[start..end],
                    body: &text[end + line.len()..],
                });
            }
            end += line.len();
        }
        Err(invalid(
            "the front matter of SKILL.md does not end with a line ---",
        ))
    }

    /// Returns the YAML text between the two lines `---`.
    pub fn yaml(&self) -> &'a str {
        self.yaml
    }

    /// Returns the Markdown text after the front matter.
    pub fn body(&self) -> &'a str {
        self.body
    }

    /// Checks front matter against the Agent Skills format: `name` obeys the rules of
    /// [`check_name`], and `description` has 1 to 1024 characters. The other members may be of any
    /// type.
    ///
    /// A server checks each skill with this function before it publishes the skill. A client does
    /// not: it also accepts front matter that breaks these rules.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`]. The error text names the wrong member.
    pub fn check(front_matter: &JsonObject) -> Result<()> {
        let text = |name: &str| front_matter.get(name).and_then(Value::as_str);
        let Some(name) = text("name") else {
            return Err(invalid("the front matter has no string 'name'"));
        };
        check_name(name)?;
        match text("description").map_or(0, |text| text.chars().count()) {
            0 => Err(invalid("the front matter has no string 'description'")),
            1..=MAX_DESCRIPTION_CHARS => Ok(()),
            chars => {
                let text = format!(
                    "the description of skill '{name}' has {chars} characters, more than \
                     {MAX_DESCRIPTION_CHARS}"
                );
                Err(Error::new(ErrorKind::Invalid, text))
            }
        }
    }

    /// Compares the front matter of a file with the front matter of its entry, member by member.
    /// The order of members has no meaning, and numbers are compared by value.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Protocol`] with [`SkillFault::FrontMatter`]. The error text names the members
    /// that differ.
    // E-SKILL-C-41
    pub fn compare(entry: &JsonObject, file: &JsonObject) -> Result<()> {
        let differs = |(name, value): &(&String, &Value)| {
            let other = file.get(name.as_str());
            !other.is_some_and(|other| is_equal(value, other))
        };
        let changed = entry.iter().filter(differs).map(|(name, _)| name);
        let added = file
            .keys()
            .filter(|name| !entry.contains_key(name.as_str()));
        let names: Vec<&String> = changed.chain(added).collect();
        if names.is_empty() {
            return Ok(());
        }
        let named = names.iter().take(MAX_NAMED);
        let named: Vec<String> = named.map(|name| format!("'{}'", Excerpt(name))).collect();
        let more = if names.len() > MAX_NAMED {
            " and others"
        } else {
            ""
        };
        let text = format!(
            "the front matter of SKILL.md differs from the entry in {}{more}",
            named.join(", ")
        );
        Err(Error::new(ErrorKind::Protocol, text).with_skill_fault(SkillFault::FrontMatter))
    }
}

/// Returns whether a line is `---`, apart from blanks and a line break at its end.
fn is_delimiter(line: &str) -> bool {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let line = line.strip_suffix('\r').unwrap_or(line);
    line.trim_end_matches([' ', '\t']) == "---"
}

/// Returns whether two JSON values are equal. Numbers are compared by value, so 1 and 1.0 are
/// equal.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| is_equal(a, b))
        }
        (Value::Object(one), Value::Object(other)) => {
            let has = |(name, value)| {
                let found: Option<&Value> = other.get::<String>(name);
                found.is_some_and(|found| is_equal(value, found))
            };
            one.len() == other.len() && one.iter().all(has)
        }
        (one, other) => one == other,
    }
}

fn invalid(text: &str) -> Error {
    Error::new(ErrorKind::Invalid, text)
}

type ParseFn = dyn Fn(&str) -> Result<JsonObject> + Send + Sync;

/// A function that parses the YAML text of front matter; clones share the function.
///
/// With the feature `skills` the library has such a parser: `FrontMatterParser::yaml`. Client and
/// server must parse equal values from one text. So a parser must follow the core schema of YAML
/// 1.2, in which `yes` and dates are strings. It should refuse anchors, aliases, tags, repeated
/// keys and keys that are not strings.
///
/// # Examples
///
/// ```
/// use mcplink::skills::FrontMatterParser;
/// use mcplink::{Error, ErrorKind};
///
/// // JSON is YAML, and easy to parse.
/// let parser = FrontMatterParser::new(|yaml| {
///     let parsed = serde_json::from_str(yaml);
///     parsed.map_err(|error| Error::new(ErrorKind::Invalid, error.to_string()))
/// });
/// assert_eq!(parser.parse(r#"{"name": "a"}"#)?["name"], "a");
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone)]
pub struct FrontMatterParser(Arc<ParseFn>);

impl FrontMatterParser {
    /// Creates a parser from a function. The function gets the YAML text between the two lines
    /// `---`.
    pub fn new(parse: impl Fn(&str) -> Result<JsonObject> + Send + Sync + 'static) -> Self {
        Self(Arc::new(parse))
    }

    /// Returns the parser of this library: YAML 1.2 with the core schema.
    ///
    /// The parser refuses anchors, aliases, tags, repeated keys, keys that are not strings,
    /// infinite numbers and further documents. It also refuses texts of more than 64 KiB or 64
    /// levels.
    #[cfg(feature = "skills")]
    pub fn yaml() -> Self {
        Self::new(super::yaml::parse)
    }

    /// Parses front matter.
    ///
    /// # Errors
    ///
    /// The error of the parser.
    pub fn parse(&self, yaml: &str) -> Result<JsonObject> {
        (self.0)(yaml)
    }
}

impl fmt::Debug for FrontMatterParser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrontMatterParser").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn front_matter_is_cut_out() {
        fn check(text: &str, yaml: &str, body: &str) {
            let parts = FrontMatter::split(text).expect(text);
            assert_eq!((parts.yaml(), parts.body()), (yaml, body), "{text:?}");
        }
        check("---\na: 1\n---\nb\n", "a: 1\n", "b\n");
        check("\u{feff}---\na: 1\n---", "a: 1\n", "");
        check("---\r\na: 1\r\n---\r\nb", "a: 1\r\n", "b");
        check("--- \t\na: 1\n---\t\nb\n---\n", "a: 1\n", "b\n---\n");
        check("---\n---\n", "", "");
        check("---\n----\n ---\n---x\n---\n", "----\n ---\n---x\n", "");
    }

    #[test]
    fn a_file_without_front_matter_is_refused() {
        for bad in [
            "",
            "# A\n",
            "\n---\na: 1\n---\n",
            " ---\na: 1\n---\n",
            "----\na: 1\n---\n",
            "--- # x\na: 1\n---\n",
            "---\na: 1\n",
            "---\na: 1\n...\n",
            "---",
        ] {
            let error = FrontMatter::split(bad).expect_err(bad);
            assert_eq!(error.kind(), ErrorKind::Invalid, "{bad:?}");
        }
    }

    #[test]
    fn published_front_matter_has_the_format() {
        fn check(front_matter: Value, is_good: bool) {
            let members = front_matter.as_object().expect("an object");
            assert_eq!(FrontMatter::check(members).is_ok(), is_good, "{members:?}");
        }
        check(json!({"name": "a", "description": "d", "x": [null]}), true);
        check(json!({"name": "a", "description": "é".repeat(1024)}), true);
        check(json!({"name": "a", "description": "é".repeat(1025)}), false);
        check(json!({"name": "a", "description": ""}), false);
        check(json!({"name": "a", "description": 7}), false);
        check(json!({"name": "a"}), false);
        check(json!({"name": "A", "description": "d"}), false);
        check(json!({"name": 7, "description": "d"}), false);
        check(json!({"description": "d"}), false);
    }

    #[test]
    fn front_matter_is_compared_member_by_member() {
        fn check(entry: Value, file: Value, named: &[&str]) {
            let members = |value: &Value| value.as_object().expect("an object").clone();
            let compared = FrontMatter::compare(&members(&entry), &members(&file));
            let Err(error) = compared else {
                assert!(named.is_empty(), "{entry} {file}");
                return;
            };
            assert_eq!(error.skill_fault(), Some(SkillFault::FrontMatter));
            assert_eq!(error.kind(), ErrorKind::Protocol);
            let text = error.to_string();
            assert!(!named.is_empty(), "{text}");
            assert!(named.iter().all(|name| text.contains(name)), "{text}");
        }
        check(json!({}), json!({}), &[]);
        check(json!({"a": 1, "b": 2}), json!({"b": 2, "a": 1}), &[]);
        check(json!({"a": 1}), json!({"a": 1.0}), &[]);
        check(
            json!({"a": {"x": [1, {"y": 2}]}}),
            json!({"a": {"x": [1.0, {"y": 2}]}}),
            &[],
        );
        check(json!({"a": 1}), json!({"a": 2}), &["'a'"]);
        check(json!({"a": 1}), json!({"a": "1"}), &["'a'"]);
        check(json!({"a": 1}), json!({}), &["'a'"]);
        check(json!({}), json!({"a": null}), &["'a'"]);
        check(json!({"a": null}), json!({}), &["'a'"]);
        check(
            json!({"a": {"x": 1}}),
            json!({"a": {"x": 1, "y": 1}}),
            &["'a'"],
        );
        check(json!({"a": {"x": 1}}), json!({"a": {"y": 1}}), &["'a'"]);
        check(json!({"a": [1, 2]}), json!({"a": [2, 1]}), &["'a'"]);
        check(json!({"a": [1]}), json!({"a": [1, 2]}), &["'a'"]);
        check(json!({"a": true}), json!({"a": "true"}), &["'a'"]);
        check(
            json!({"a": 1, "b": 1}),
            json!({"a": 2, "c": 1}),
            &["'a'", "'b'", "'c'"],
        );
    }
}
