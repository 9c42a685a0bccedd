//! What several fuzz targets share.

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

/// Takes the first byte of an input, which chooses a variant of the test.
pub fn choice(data: &[u8]) -> (u8, &[u8]) {
    data.split_first()
        .map_or((0, data), |(first, rest)| (*first, rest))
}

/// Cuts an input in three ways: not at all, into bytes, and into pieces of a size by `choice`.
pub fn cuts(data: &[u8], choice: u8) -> [Vec<&[u8]>; 3] {
    let pieces = |size: usize| data.chunks(size).collect();
    [vec![data], pieces(1), pieces(usize::from(choice) % 61 + 2)]
}

/// The members of a JSON object in their order, with repeated ones.
pub struct Members(pub Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Members;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(All)
    }
}
