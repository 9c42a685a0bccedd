//! The cost of a schema, computed from the schema alone.
//!
//! A short schema can be expensive. If each of thirty subschemas has two references to the next
//! one, a billion subschemas apply to one value. While a value is checked, each access to it is
//! counted against a limit. A step from one subschema to the next accesses no value, so it is not
//! counted. Therefore this module limits the number of subschemas that can apply to one value, and
//! their nesting. A subschema that applies to its own value again is an error, since its check
//! never ends.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::limits::SchemaLimits;
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::schema::url::percent_decoded;

/// The maximum nesting of subschemas that apply to one value.
const MAX_STACKED: usize = 16;
/// The cost of a reference that leads out of the schema. Such a reference can only lead to the
/// schema of a dialect, because other references are not resolved.
const OF_A_DIALECT: Cost = Cost {
    parts: 100,
    stacked: 4,
};

/// Returns the number of patterns in a schema. Fails for a schema that could cost too much, or that
/// names a dialect for which `known` is false.
pub(super) fn check(
    schema: &Value,
    limits: &SchemaLimits,
    known: impl Fn(&str) -> bool,
) -> Result<usize> {
    let mut parts = Parts::default();
    parts.collect(schema, 0, true);
    if let Some(dialect) = parts.dialects.iter().find(|dialect| !known(dialect)) {
        let text = format!(
            "dialect \"{}\" is not supported: use \"https://json-schema.org/draft/2020-12/schema\" or \"http://json-schema.org/draft-07/schema#\"",
            Excerpt(dialect)
        );
        return Err(Error::new(ErrorKind::Unsupported, text));
    }
    let mut costs = Costs {
        parts: &parts,
        known: HashMap::new(),
    };
    for &part in &parts.all {
        let cost = costs.of(part, 0)?;
        if cost.parts > limits.max_schemas_per_value {
            let text = format!(
                "more than SchemaLimits::max_schemas_per_value ({}) parts of the schema apply to one value",
                limits.max_schemas_per_value
            );
            return Err(Error::new(ErrorKind::Limit, text));
        }
    }
    Ok(patterns_of(schema))
}

/// Returns the number of patterns in a schema. Patterns below keywords such as `default` count too,
/// because a reference may lead there.
fn patterns_of(schema: &Value) -> usize {
    match schema {
        Value::Object(members) => {
            // A property may have the name of a keyword, but its value is a schema then.
            let named = members.get("patternProperties").and_then(Value::as_object);
            let is_schema = |value: &&Value| value.is_object() || value.is_boolean();
            let named = named.map_or(0, |named| named.values().filter(is_schema).count());
            let own = usize::from(members.get("pattern").is_some_and(Value::is_string));
            own + named + members.values().map(patterns_of).sum::<usize>()
        }
        Value::Array(values) => values.iter().map(patterns_of).sum(),
        _ => 0,
    }
}

/// The subschemas of a schema, with indexes by which references are resolved.
#[derive(Default)]
struct Parts<'a> {
    all: Vec<&'a Value>,
    /// The schema resources: first the whole schema, then the subschemas that have a URI of their
    /// own.
    resources: Vec<(&'a str, &'a Value)>,
    /// The schema resource of each subschema, as an index into `resources`.
    homes: HashMap<*const Value, usize>,
    anchors: HashMap<&'a str, Vec<&'a Value>>,
    dialects: Vec<&'a str>,
}

impl<'a> Parts<'a> {
    fn collect(&mut self, part: &'a Value, mut home: usize, is_root: bool) {
        let Value::Object(members) = part else { return };
        let text = |key: &str| members.get(key).and_then(Value::as_str);
        let id = text("$id").or_else(|| text("id"));
        let anchors = [text("$anchor"), text("$dynamicAnchor")];
        let named = id.and_then(|id| id.strip_prefix('#'));
        for anchor in anchors.into_iter().flatten().chain(named) {
            self.anchors.entry(anchor).or_default().push(part);
        }
        if is_root || (id.is_some() && named.is_none()) {
            home = self.resources.len();
            self.resources.push((id.unwrap_or_default(), part));
        }
        self.dialects.extend(text("$schema"));
        self.homes.insert(part, home);
        self.all.push(part);
        for (key, member) in members {
            match (key.as_str(), member) {
                ("const" | "enum" | "default" | "examples", _) => {}
                (
                    "properties" | "patternProperties" | "$defs" | "definitions"
                    | "dependentSchemas" | "dependencies",
                    Value::Object(named),
                ) => named
                    .values()
                    .for_each(|part| self.collect(part, home, false)),
                (_, Value::Array(several)) => several
                    .iter()
                    .for_each(|part| self.collect(part, home, false)),
                (_, one) => self.collect(one, home, false),
            }
        }
    }

    /// Returns the possible targets of a reference. The list is empty if the reference leads out of
    /// the schema.
    fn find(&self, reference: &str, from: &Value) -> Vec<&'a Value> {
        let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        // The engine decodes fragments too, so an encoded pointer must not hide its target.
        let decoded = percent_decoded(fragment);
        let fragment = decoded.as_deref().unwrap_or(fragment);
        let own = self.homes.get(&std::ptr::from_ref(from)).copied();
        let in_resource = |&(_, root): &(&str, &'a Value)| match fragment {
            "" => Some(root),
            _ => root.pointer(fragment),
        };
        if !fragment.is_empty() && !fragment.starts_with('/') {
            return self.anchors.get(fragment).cloned().unwrap_or_default();
        }
        let own = own.and_then(|home| self.resources.get(home));
        if address.is_empty()
            && let Some(found) = own.and_then(in_resource)
        {
            return vec![found];
        }
        let name = address.rsplit('/').next().unwrap_or(address);
        let addressed = self
            .resources
            .iter()
            .filter(|(id, _)| address.is_empty() || id.trim_end_matches('#').ends_with(name));
        addressed.filter_map(in_resource).collect()
    }
}

/// The cost of a subschema: the number and the nesting of the subschemas that apply to the same
/// value, including the subschema itself.
#[derive(Clone, Copy, Debug)]
struct Cost {
    parts: usize,
    stacked: usize,
}

struct Costs<'p, 'a> {
    parts: &'p Parts<'a>,
    /// The costs of subschemas that were computed so far, by the address of the subschema. A cost
    /// is `None` while it is being computed, so that cycles are detected.
    known: HashMap<*const Value, Option<Cost>>,
}

impl<'a> Costs<'_, 'a> {
    fn of(&mut self, part: &'a Value, above: usize) -> Result<Cost> {
        let Value::Object(members) = part else {
            return Ok(Cost {
                parts: 1,
                stacked: 1,
            });
        };
        match self.known.get(&std::ptr::from_ref(part)) {
            Some(Some(cost)) if above + cost.stacked <= MAX_STACKED => return Ok(*cost),
            Some(None) => {
                let text = "a part of the schema refers to itself without going into a property or an item";
                return Err(Error::new(ErrorKind::Invalid, text));
            }
            _ if above >= MAX_STACKED => {
                let text = format!(
                    "parts of the schema that apply to one value are stacked more than {MAX_STACKED} deep"
                );
                return Err(Error::new(ErrorKind::Limit, text));
            }
            _ => {}
        }
        self.known.insert(part, None);
        let mut cost = Cost {
            parts: 1,
            stacked: 1,
        };
        for below in same_value(members) {
            self.add(&mut cost, below, above)?;
        }
        for reference in references(members) {
            let found = self.parts.find(reference, part);
            let mut dearest = OF_A_DIALECT;
            for (number, below) in found.into_iter().enumerate() {
                let below = self.of(below, above + 1)?;
                if number == 0 || below.parts > dearest.parts {
                    dearest = below;
                }
            }
            cost.parts = cost.parts.saturating_add(dearest.parts);
            cost.stacked = cost.stacked.max(1 + dearest.stacked);
        }
        self.known.insert(part, Some(cost));
        Ok(cost)
    }

    fn add(&mut self, cost: &mut Cost, below: &'a Value, above: usize) -> Result<()> {
        let below = self.of(below, above + 1)?;
        cost.parts = cost.parts.saturating_add(below.parts);
        cost.stacked = cost.stacked.max(1 + below.stacked);
        Ok(())
    }
}

/// Returns the direct subschemas that apply to the same value as the schema.
fn same_value(members: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let several = ["allOf", "anyOf", "oneOf"]
        .into_iter()
        .filter_map(|key| members.get(key).and_then(Value::as_array))
        .flatten();
    let one = ["not", "if", "then", "else"]
        .into_iter()
        .filter_map(|key| members.get(key));
    let dependent = ["dependentSchemas", "dependencies"]
        .into_iter()
        .filter_map(|key| members.get(key).and_then(Value::as_object))
        .flat_map(Map::values);
    several.chain(one).chain(dependent)
}

fn references(members: &Map<String, Value>) -> impl Iterator<Item = &str> {
    ["$ref", "$dynamicRef", "$recursiveRef"]
        .into_iter()
        .filter_map(|key| members.get(key).and_then(Value::as_str))
}
