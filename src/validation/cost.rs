//! What a schema can cost, told from the schema alone.
//!
//! Two references to the same part from each of thirty parts make a schema of a page, of which a billion parts apply to one value. What has
//! been asked of a value is metered, but going from part to part without looking at one is not: so the number of parts that can apply to one
//! value is bounded here, and so is how deep they are stacked. A part that applies to the very value that it already applies to has no end.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::engine::SchemaLimits;
use crate::error::{Error, ErrorKind, Excerpt, Result};

/// How deep the parts that apply to one value may be stacked.
const MAX_STACKED: usize = 16;
/// What a reference costs that leads out of the schema: to that of a dialect, since no other is resolved.
const OF_A_DIALECT: Cost = Cost {
    parts: 100,
    stacked: 4,
};

/// Refuses a schema that could cost too much, or names a dialect that is not `known`. Gives the
/// number of its patterns.
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
                "more than max_schemas_per_value ({}) parts of the schema apply to one value",
                limits.max_schemas_per_value
            );
            return Err(Error::new(ErrorKind::Limit, text));
        }
    }
    Ok(parts.patterns)
}

/// The parts of a schema that are schemas, and what they can be found by.
#[derive(Default)]
struct Parts<'a> {
    all: Vec<&'a Value>,
    /// Those with an address of their own, and the schema as a whole, which comes first.
    resources: Vec<(&'a str, &'a Value)>,
    /// Which resource a part belongs to.
    homes: HashMap<*const Value, usize>,
    anchors: HashMap<&'a str, Vec<&'a Value>>,
    dialects: Vec<&'a str>,
    /// How many texts are patterns.
    patterns: usize,
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
        let named_by_patterns = members.get("patternProperties").and_then(Value::as_object);
        self.patterns += usize::from(members.contains_key("pattern"));
        self.patterns += named_by_patterns.map_or(0, Map::len);
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

    /// Where a reference can lead. Nowhere means out of the schema.
    fn find(&self, reference: &str, from: &Value) -> Vec<&'a Value> {
        let (address, place) = reference.split_once('#').unwrap_or((reference, ""));
        let own = self.homes.get(&std::ptr::from_ref(from)).copied();
        let in_resource = |&(_, root): &(&str, &'a Value)| match place {
            "" => Some(root),
            // What is percent-encoded is looked for in vain, and so costs as much as what leads out.
            _ => root.pointer(place),
        };
        if !place.is_empty() && !place.starts_with('/') {
            return self.anchors.get(place).cloned().unwrap_or_default();
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

/// What applies to a value when a part does, the part included.
#[derive(Clone, Copy, Debug)]
struct Cost {
    parts: usize,
    stacked: usize,
}

struct Costs<'p, 'a> {
    parts: &'p Parts<'a>,
    /// `None` while it is being told.
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

/// The parts right below that apply to the same value.
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
