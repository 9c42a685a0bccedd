//! The comparison of two JSON values, except for what differs from run to run.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

/// The members whose values a server makes anew in each run. A client sends them back.
pub(super) const MADE_ANEW: [&str; 3] = ["requestState", "nextCursor", "taskId"];
/// The members whose values are ids, which a client chooses anew in each run.
const IDS: [&str; 1] = ["progressToken"];
/// The most differences that are reported of one message.
const MOST: usize = 20;

/// A place where two values differ. A value that is missing is `None`. It is shown as lines.
#[derive(Debug, PartialEq)]
pub(super) struct Change {
    pub(super) path: String,
    pub(super) recorded: Option<Value>,
    pub(super) actual: Option<Value>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {}", self.path)?;
        if let Some(recorded) = &self.recorded {
            write!(f, "\n    - {}", shortened(recorded))?;
        }
        if let Some(actual) = &self.actual {
            write!(f, "\n    + {}", shortened(actual))?;
        }
        Ok(())
    }
}

/// Returns a value as JSON, without the end of a long one.
pub(super) fn shortened(value: &Value) -> String {
    const MOST: usize = 300;
    let text = value.to_string();
    let start: String = text.chars().take(MOST).collect();
    match start.len() < text.len() {
        true => format!("{start}…"),
        false => start,
    }
}

/// Returns the places where `actual` differs from `recorded`. Members that are made anew or named
/// in `ignore` are not compared, and neither are times and UUIDs.
fn compare(recorded: &Value, actual: &Value, ignore: &[String]) -> Vec<Change> {
    let mut changes = Vec::new();
    walk(recorded, actual, ignore, String::new(), &mut changes);
    changes
}

/// Returns the places where two messages differ: the params of requests, and the results and errors
/// of responses. Notifications are not compared.
pub(super) fn compare_messages(recorded: &Value, actual: &Value, ignore: &[String]) -> Vec<Change> {
    let members: &[&str] = match (recorded.get("method"), recorded.get("id")) {
        (Some(_), None) => &[],
        (Some(_), Some(_)) => &["params"],
        (None, _) => &["result", "error"],
    };
    let part = |message: &Value| -> Value {
        let members = members.iter().filter_map(|name| {
            let value = message.get(*name)?;
            Some(((*name).to_owned(), value.clone()))
        });
        Value::Object(members.collect())
    };
    compare(&part(recorded), &part(actual), ignore)
}

fn walk(
    recorded: &Value,
    actual: &Value,
    ignore: &[String],
    path: String,
    changes: &mut Vec<Change>,
) {
    if changes.len() >= MOST {
        return;
    }
    match (recorded, actual) {
        (Value::Object(one), Value::Object(other)) => {
            let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for key in keys {
                let is_anew = MADE_ANEW.contains(&&**key) || IDS.contains(&&**key);
                let is_ignored = is_anew || ignore.contains(key);
                let path = match path.is_empty() {
                    true => key.clone(),
                    false => format!("{path}.{key}"),
                };
                match (one.get(key), other.get(key)) {
                    _ if is_ignored => {}
                    (Some(one), Some(other)) => walk(one, other, ignore, path, changes),
                    (one, other) => changes.push(Change {
                        path,
                        recorded: one.cloned(),
                        actual: other.cloned(),
                    }),
                }
            }
        }
        (Value::Array(one), Value::Array(other)) => {
            for at in 0..one.len().max(other.len()) {
                let path = format!("{path}[{at}]");
                match (one.get(at), other.get(at)) {
                    (Some(one), Some(other)) => walk(one, other, ignore, path, changes),
                    (one, other) => changes.push(Change {
                        path,
                        recorded: one.cloned(),
                        actual: other.cloned(),
                    }),
                }
            }
        }
        (Value::String(one), Value::String(other)) if is_alike(one, other) => {}
        (one, other) if one == other => {}
        (one, other) => changes.push(Change {
            path,
            recorded: Some(one.clone()),
            actual: Some(other.clone()),
        }),
    }
}

/// Whether both texts are times, or both are UUIDs.
fn is_alike(one: &str, other: &str) -> bool {
    one == other || (is_time(one) && is_time(other)) || (is_uuid(one) && is_uuid(other))
}

/// Whether a text is a time as in RFC 3339, such as `2026-07-28T12:00:00Z`.
fn is_time(text: &str) -> bool {
    const SHAPE: &[u8] = b"dddd-dd-ddTdd:dd:dd";
    let has_shape = |text: &[u8]| {
        let letters = text.iter().zip(SHAPE);
        letters.clone().count() == SHAPE.len()
            && letters.into_iter().all(|(letter, shape)| match shape {
                b'd' => letter.is_ascii_digit(),
                shape => letter == shape,
            })
    };
    let bytes = text.as_bytes();
    has_shape(bytes)
        && bytes[SHAPE.len()..]
            .iter()
            .all(|letter| letter.is_ascii_digit() || b".:+-Z".contains(letter))
}

fn is_uuid(text: &str) -> bool {
    let parts: Vec<usize> = text.split('-').map(str::len).collect();
    let is_hex = |letter: char| letter == '-' || letter.is_ascii_hexdigit();
    parts == [8, 4, 4, 4, 12] && text.chars().all(is_hex)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_differs_from_run_to_run_is_not_compared() {
        let recorded = json!({
            "at": "2026-01-02T03:04:05Z", "id": "00000000-0000-4000-8000-000000000001",
            "requestState": "a", "pid": 1, "list": [1, 2], "same": {"x": null},
        });
        let actual = json!({
            "at": "2026-11-26T10:00:00.5+01:00", "id": "00000000-0000-4000-8000-00000000000F",
            "requestState": "b", "pid": 2, "list": [1, 3, 4], "same": {},
        });
        let changes = compare(&recorded, &actual, &["pid".to_owned()]);
        let paths: Vec<&str> = changes.iter().map(|change| &*change.path).collect();
        assert_eq!(paths, ["list[1]", "list[2]", "same.x"]);
        assert_eq!(
            (&changes[1].recorded, &changes[1].actual),
            (&None, &Some(json!(4)))
        );
        assert!(compare(&recorded, &recorded, &[]).is_empty());
        assert!(!is_time("2026-01-02") && !is_time("2026-01-02T03:04:05 soon"));
        assert!(!is_uuid("00000000-0000-4000-8000-00000000000g"));
    }

    #[test]
    fn other_types_differ() {
        let changes = compare(&json!({"a": [1]}), &json!({"a": {"0": 1}}), &[]);
        assert_eq!(changes.len(), 1);
        assert_eq!(changes[0].path, "a");
    }
}
