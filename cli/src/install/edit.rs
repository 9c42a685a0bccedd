//! Edits of a JSON file as text: what is not edited stays as it is, with its order, its comments
//! and its white space.
//!
//! Comments and commas behind the last member are allowed, as many hosts allow them. Positions are
//! found in a copy of the text in which both are spaces, so they are those of the text itself.
//! After each edit, the values of the whole text are compared with what they should be.

use std::ops::Range;

use serde_json::{Map, Value};

/// A configuration file, and the member that has the servers.
pub(super) struct Edit<'a> {
    text: &'a str,
    section: &'a str,
    /// The text without comments.
    bare: String,
    /// The values of the text.
    value: Value,
    /// The object of the whole text. `None` if the text is blank.
    root: Option<Object>,
    /// The object of the servers.
    servers: Option<Object>,
}

/// The position of an object and its members.
struct Object {
    /// The position of the closing brace.
    end: usize,
    start: usize,
    members: Vec<Member>,
}

struct Member {
    key: String,
    start: usize,
    value: Range<usize>,
}

impl<'a> Edit<'a> {
    pub(super) fn read(text: &'a str, section: &'a str) -> Result<Self, String> {
        let bare = without_comments(text)?;
        let plain = without_last_commas(&bare);
        let mut edit = Self {
            text,
            section,
            bare,
            value: Value::Object(Map::new()),
            root: None,
            servers: None,
        };
        if plain.trim().is_empty() {
            return match text.trim_start_matches('\u{feff}').trim().is_empty() {
                true => Ok(edit),
                false => Err("it has comments only, and no object".to_owned()),
            };
        }
        edit.value = serde_json::from_str(&plain).map_err(|error| format!("no JSON: {error}"))?;
        let start = plain.len() - plain.trim_start().len();
        let root = object(&plain, start).ok_or("it is no JSON object")?;
        let servers = find(&root, section)?.map(|member| {
            let object = object(&plain, member.value.start);
            object.ok_or_else(|| format!("'{section}' is no JSON object"))
        });
        edit.servers = servers.transpose()?;
        edit.root = Some(root);
        Ok(edit)
    }

    /// Whether there is a server with this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.value[self.section].get(name).is_some()
    }

    /// Returns the text with this server.
    pub(super) fn set(&self, name: &str, entry: &Value) -> Result<String, String> {
        let mut wanted = self.value.clone();
        wanted[self.section][name] = entry.clone();
        let section = || {
            let mut servers = Map::new();
            servers.insert(name.to_owned(), entry.clone());
            Value::Object(servers)
        };
        let changed = match (&self.root, &self.servers) {
            (None, _) => {
                let mut root = Map::new();
                root.insert(self.section.to_owned(), section());
                pretty(&Value::Object(root), "  ") + "\n"
            }
            (Some(root), None) => self.insert(root, self.section, &section()),
            (Some(_), Some(servers)) => match find(servers, name)? {
                Some(_) if wanted == self.value => self.text.to_owned(),
                Some(member) => {
                    let indent = self.indent_at(member.start);
                    let indent = indent.unwrap_or_default().to_owned();
                    let entry = self.indented(entry, &indent);
                    self.replaced(&[(member.value.clone(), &entry)])
                }
                None => self.insert(servers, name, entry),
            },
        };
        checked(changed, &wanted)
    }

    /// Returns the text without this server.
    pub(super) fn remove(&self, name: &str) -> Result<String, String> {
        let missing = || format!("it has no server '{name}'");
        let servers = self.servers.as_ref().ok_or_else(missing)?;
        let member = find(servers, name)?.ok_or_else(missing)?;
        let mut wanted = self.value.clone();
        if let Some(servers) = wanted[self.section].as_object_mut() {
            servers.remove(name);
        }
        let at = servers
            .members
            .iter()
            .position(|other| other.start == member.start);
        let at = at.unwrap_or_default();
        let behind = self.comma_behind(member.value.end);
        let before = at.checked_sub(1).map(|before| &servers.members[before]);
        let before = before.and_then(|before| self.comma_behind(before.value.end));
        // The last member goes with the comma before it.
        let comma = match (behind, before) {
            (Some(comma), _) => Some(comma),
            (None, comma) => comma,
        };
        let own = self.whole_lines(member.start..member.value.end, behind);
        let comma = comma.filter(|comma| !own.contains(comma));
        let changed = match comma {
            None => self.replaced(&[(own, "")]),
            Some(comma) if comma < own.start => self.replaced(&[(comma..comma + 1, ""), (own, "")]),
            Some(comma) => self.replaced(&[(own, ""), (comma..comma + 1, "")]),
        };
        checked(changed, &wanted)
    }

    /// Inserts a member at the end of an object.
    fn insert(&self, object: &Object, key: &str, value: &Value) -> String {
        let line = self.newline();
        let key = Value::from(key).to_string();
        let Some(last) = object.members.last() else {
            let outer = self.indent_of_line(object.start).to_owned();
            let indent = format!("{outer}{}", self.unit());
            let member = format!("{line}{indent}{key}: {}", self.indented(value, &indent));
            let inside = &self.text[object.start + 1..object.end];
            let at = object.start + 1 + inside.trim_end().len();
            let is_closed_below = self.text[at..object.end].contains('\n');
            let close = if is_closed_below {
                String::new()
            } else {
                format!("{line}{outer}")
            };
            return self.replaced(&[(at..at, &format!("{member}{close}"))]);
        };
        let comma = self.comma_behind(last.value.end);
        // Comments on the line of the last member stay there.
        let from = comma.map_or(last.value.end, |comma| comma + 1);
        let at = self.end_of_line(from, object.end);
        let member = match self.indent_at(last.start) {
            Some(indent) => {
                let indent = indent.to_owned();
                let close = match self.text[at..object.end].contains('\n') {
                    true => String::new(),
                    false => format!("{line}{}", self.indent_of_line(object.start)),
                };
                format!(
                    "{line}{indent}{key}: {}{close}",
                    self.indented(value, &indent)
                )
            }
            None => format!(" {key}: {value}"),
        };
        match comma {
            Some(_) => self.replaced(&[(at..at, &member)]),
            None => {
                let end = last.value.end;
                self.replaced(&[(end..end, ","), (at..at, &member)])
            }
        }
    }

    /// Returns the text with these ranges replaced. The ranges are in order, and do not overlap.
    fn replaced(&self, changes: &[(Range<usize>, &str)]) -> String {
        let (mut text, mut from) = (String::new(), 0);
        for (range, new) in changes {
            text.push_str(&self.text[from..range.start]);
            text.push_str(new);
            from = range.end;
        }
        text.push_str(&self.text[from..]);
        text
    }

    /// Returns the position of the comma behind a value, if there is one.
    fn comma_behind(&self, end: usize) -> Option<usize> {
        let rest = &self.bare[end..];
        let at = end + (rest.len() - rest.trim_start().len());
        self.bare[at..].starts_with(',').then_some(at)
    }

    /// Returns the end of the comments that follow on the line of `from`.
    fn end_of_line(&self, from: usize, most: usize) -> usize {
        let rest = &self.bare[from..most];
        let line = rest.find(['\n', '\r']).unwrap_or(rest.len());
        match rest[..line].trim().is_empty() {
            true => from + self.text[from..from + line].trim_end().len(),
            // Another member or the closing brace is on the line.
            false => from,
        }
    }

    /// Extends a range over its comma and over whole lines, if nothing else is on them.
    fn whole_lines(&self, range: Range<usize>, comma: Option<usize>) -> Range<usize> {
        let end = comma.map_or(range.end, |comma| comma + 1);
        let start = self.text[..range.start].rfind('\n').map_or(0, |at| at + 1);
        let stop = self.text[end..]
            .find('\n')
            .map_or(self.text.len(), |at| end + at + 1);
        let has_space_only = |text: &str| text.trim().is_empty();
        // A comment between a value and its comma stays.
        let between = has_space_only(&self.text[range.end..end.max(range.end)].replace(',', ""));
        if !between {
            return range;
        }
        match has_space_only(&self.text[start..range.start])
            && has_space_only(&self.text[end..stop])
        {
            true => start..stop,
            false => range.start..end,
        }
    }

    /// Returns the white space before a position, if nothing else is before it on its line.
    fn indent_at(&self, at: usize) -> Option<&str> {
        let start = self.text[..at].rfind('\n')? + 1;
        let indent = &self.text[start..at];
        indent.trim().is_empty().then_some(indent)
    }

    /// Returns the white space at the start of the line of a position.
    fn indent_of_line(&self, at: usize) -> &str {
        let start = self.text[..at].rfind('\n').map_or(0, |at| at + 1);
        let line = &self.text[start..at];
        &line[..line.len() - line.trim_start().len()]
    }

    /// Returns the indentation of one level.
    fn unit(&self) -> &str {
        let first = self.root.as_ref().and_then(|root| root.members.first());
        let indent = first.and_then(|first| self.indent_at(first.start));
        indent.filter(|indent| !indent.is_empty()).unwrap_or("  ")
    }

    fn newline(&self) -> &'static str {
        match self.text.contains("\r\n") {
            true => "\r\n",
            false => "\n",
        }
    }

    /// Returns a value as text, for a line that is indented by `indent`.
    fn indented(&self, value: &Value, indent: &str) -> String {
        pretty(value, self.unit()).replace('\n', &format!("{}{indent}", self.newline()))
    }
}

/// Compares the values of an edited text with what they should be.
fn checked(text: String, wanted: &Value) -> Result<String, String> {
    let plain = without_last_commas(&without_comments(&text)?);
    match serde_json::from_str::<Value>(&plain) {
        Ok(value) if value == *wanted => Ok(text),
        _ => Err("its form is too unusual to be edited safely: edit it by hand".to_owned()),
    }
}

fn pretty(value: &Value, unit: &str) -> String {
    let text = format!("{value:#}");
    let lines = text.lines().map(|line| {
        let inner = line.trim_start();
        let depth = (line.len() - inner.len()) / 2;
        format!("{}{inner}", unit.repeat(depth))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Replaces comments and a byte-order mark by spaces. Line ends stay.
fn without_comments(text: &str) -> Result<String, String> {
    let mut bytes = text.as_bytes().to_vec();
    if text.starts_with('\u{feff}') {
        bytes[..3].fill(b' ');
    }
    let mut at = 0;
    while at < bytes.len() {
        let end = match (bytes[at], bytes.get(at + 1)) {
            (b'"', _) => {
                at = end_of_string(&bytes, at).ok_or("a string is not closed")?;
                continue;
            }
            (b'/', Some(b'/')) => {
                let line = bytes[at..].iter().position(|byte| *byte == b'\n');
                line.map_or(bytes.len(), |line| at + line)
            }
            (b'/', Some(b'*')) => {
                let rest = text.get(at + 2..).unwrap_or_default();
                at + 4 + rest.find("*/").ok_or("a comment is not closed")?
            }
            _ => {
                at += 1;
                continue;
            }
        };
        let comment = bytes[at..end].iter_mut();
        comment
            .filter(|byte| !matches!(byte, b'\n' | b'\r'))
            .for_each(|byte| *byte = b' ');
        at = end;
    }
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

/// Replaces commas behind the last members of objects and arrays by spaces.
fn without_last_commas(bare: &str) -> String {
    let bytes = bare.as_bytes();
    let mut plain = bare.to_owned();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_string(bytes, at).unwrap_or(bytes.len()),
            b',' if bare[at + 1..].trim_start().starts_with(['}', ']']) => {
                plain.replace_range(at..=at, " ");
                at += 1;
            }
            _ => at += 1,
        }
    }
    plain
}

/// Returns the position behind a string that begins at `start`.
fn end_of_string(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Returns the object that begins at `start` in valid JSON. Returns `None` for another value.
fn object(plain: &str, start: usize) -> Option<Object> {
    let bytes = plain.as_bytes();
    if bytes.get(start) != Some(&b'{') {
        return None;
    }
    let skip = |at: usize| {
        let rest = &plain[at..];
        at + (rest.len() - rest.trim_start().len())
    };
    let mut members = Vec::new();
    let mut at = skip(start + 1);
    while bytes.get(at)? != &b'}' {
        if bytes[at] == b',' {
            at = skip(at + 1);
            continue;
        }
        let key_end = end_of_string(bytes, at)?;
        let key = serde_json::from_str(&plain[at..key_end]).ok()?;
        // The colon is one byte.
        let value = skip(skip(key_end) + 1);
        let end = end_of_value(bytes, value)?;
        members.push(Member {
            key,
            start: at,
            value: value..end,
        });
        at = skip(end);
    }
    Some(Object {
        end: at,
        start,
        members,
    })
}

/// Returns the position behind a value that begins at `start` in valid JSON.
fn end_of_value(bytes: &[u8], start: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = start;
    loop {
        match bytes.get(at)? {
            b'"' => at = end_of_string(bytes, at)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' if depth > 0 => {
                depth -= 1;
                at += 1;
            }
            // A number or a word ends here; it is not counted by its letters.
            b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r' if depth == 0 => return Some(at),
            _ => {
                at += 1;
                continue;
            }
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

fn find<'o>(object: &'o Object, key: &str) -> Result<Option<&'o Member>, String> {
    let mut found = object.members.iter().filter(|member| member.key == key);
    match (found.next(), found.next()) {
        (found, None) => Ok(found),
        _ => Err(format!("it has '{key}' twice")),
    }
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    reason = "a test that can't go on is a test that fails"
)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(text: &str, name: &str) -> Result<String, String> {
        Edit::read(text, "mcpServers")?.set(name, &json!({ "command": "x" }))
    }

    fn remove(text: &str, name: &str) -> Result<String, String> {
        Edit::read(text, "mcpServers")?.remove(name)
    }

    const NEW: &str =
        "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"x\"\n    }\n  }\n}";

    #[test]
    fn a_new_file_is_made() {
        for text in ["", " \n", "\u{feff}"] {
            assert_eq!(set(text, "a").unwrap(), format!("{NEW}\n"));
        }
        assert_eq!(set("{}", "a").unwrap(), NEW);
        assert_eq!(set("{\n}", "a").unwrap(), NEW);
    }

    #[test]
    fn all_else_stays_as_it_is() {
        let text = "// head\n{\n\t\"z\": 1, // one\n\t\"mcpServers\": {\n\t\t/* old */\n\t\t\"b\": \
            {\"command\": \"y\"} // \"last\", }\n\t},\n\t\"a\": [1, 2,],\n}\n// tail\n";
        let wanted = "// head\n{\n\t\"z\": 1, // one\n\t\"mcpServers\": {\n\t\t/* old */\n\t\t\"b\": \
            {\"command\": \"y\"}, // \"last\", }\n\t\t\"a\": {\n\t\t\t\"command\": \"x\"\n\t\t}\n\t},\n\t\"a\": \
            [1, 2,],\n}\n// tail\n";
        let changed = set(text, "a").unwrap();
        assert_eq!(changed, wanted);
        assert_eq!(remove(&changed, "a").unwrap(), text);
        // Replaced, and again the same.
        let replaced = Edit::read(&changed, "mcpServers").unwrap();
        let replaced = replaced.set("b", &json!({ "command": "x" })).unwrap();
        assert!(replaced.contains("\"b\": {\n\t\t\t\"command\": \"x\"\n\t\t}, // \"last\", }"));
        assert_eq!(set(&replaced, "b").unwrap(), replaced);
    }

    #[test]
    fn a_comma_behind_the_last_member_is_used() {
        let text = "{\n  \"mcpServers\": {\n    \"b\": {}, // b\n  },\n}\n";
        let changed = set(text, "a").unwrap();
        let wanted = "{\n  \"mcpServers\": {\n    \"b\": {}, // b\n    \"a\": {\n      \
            \"command\": \"x\"\n    }\n  },\n}\n";
        assert_eq!(changed, wanted);
        assert!(remove(&changed, "b").unwrap().contains("// b"));
    }

    #[test]
    fn a_file_of_one_line_stays_one_line() {
        let text = r#"{"n":1,"mcpServers":{"b":{"command":"y"}}}"#;
        let wanted = r#"{"n":1,"mcpServers":{"b":{"command":"y"}, "a": {"command":"x"}}}"#;
        assert_eq!(set(text, "a").unwrap(), wanted);
        let left = remove(wanted, "a").unwrap();
        let left: Value = serde_json::from_str(&left).unwrap();
        assert_eq!(left, serde_json::from_str::<Value>(text).unwrap());
        assert_eq!(remove(wanted, "b").unwrap().matches("\"a\"").count(), 1);
    }

    #[test]
    fn windows_line_ends_stay() {
        let text = "{\r\n  \"mcpServers\": {\r\n    \"b\": {}\r\n  }\r\n}\r\n";
        let changed = set(text, "a").unwrap();
        assert!(!changed.replace("\r\n", "").contains('\n'), "{changed:?}");
        assert_eq!(remove(&changed, "a").unwrap(), text);
    }

    #[test]
    fn what_is_no_configuration_is_refused() {
        for (text, error) in [
            ("[]", "no JSON object"),
            ("{", "no JSON"),
            ("{} {}", "no JSON"),
            ("{\"mcpServers\": []}", "'mcpServers' is no JSON object"),
            ("{\"mcpServers\": {}, \"mcpServers\": {}}", "twice"),
            ("{\"mcpServers\": {\"a\": 1, \"a\": 2}}", "twice"),
            ("/* open", "not closed"),
            ("{\"open", "not closed"),
            ("// nothing", "comments only"),
        ] {
            let refusal = set(text, "a").unwrap_err();
            assert!(refusal.contains(error), "{text}: {refusal}");
        }
        assert!(remove("{}", "a").unwrap_err().contains("no server 'a'"));
    }

    #[test]
    fn odd_texts_are_edited_rightly_or_refused() {
        let names = ["a", "quote\"d", "ü", "", "x y"];
        for text in [
            "{ // c\n}",
            "{\"mcpServers\": { /* none */ }}",
            "{\"mcpServers\": {\n\n}}",
            "{\"mcpServers\":{\"b\":1}/*c*/,\"n\":\"//\"}",
            "{\"mcpServers\":{\"b\":{} /* c */ , }}",
            "{\"mcpServers\":\n{\"b\":\n{}}}",
        ] {
            for name in names {
                // The values are compared inside.
                let changed = set(text, name).unwrap();
                assert_eq!(changed.matches("/*").count(), text.matches("/*").count());
                let left = remove(&changed, name).unwrap();
                assert_eq!(left.matches("/*").count(), text.matches("/*").count());
                if text.contains("\"b\"") {
                    remove(text, "b").unwrap();
                }
            }
        }
    }
}
