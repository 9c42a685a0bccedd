//! Finds numbers that JSON can't represent: infinities and NaN. `serde_json` writes them as `null`.

use std::fmt;

use serde::Serialize;
use serde::ser::{self, Serializer};

/// Returns the first number in a value that JSON can't represent, after its place (a JSON Pointer,
/// RFC 6901). For example, `/ratio is NaN`.
pub(crate) fn unrepresentable(value: &(impl Serialize + ?Sized)) -> Option<String> {
    let found = value.serialize(Finite).err()?.0?;
    // The whole value has no place.
    Some(match found.starts_with(' ') {
        true => format!("it{found}"),
        false => found,
    })
}

/// The outcome for a number that is not finite. `None` for an error of the value's own `Serialize`.
#[derive(Debug)]
struct NotFinite(Option<String>);

impl NotFinite {
    /// Prepends a step of the path.
    fn below(self, step: impl fmt::Display) -> Self {
        let step = step.to_string().replace('~', "~0").replace('/', "~1");
        Self(self.0.map(|found| format!("/{step}{found}")))
    }
}

impl fmt::Display for NotFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_deref().unwrap_or_default())
    }
}

impl std::error::Error for NotFinite {}

impl ser::Error for NotFinite {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self(None)
    }
}

/// A serializer that examines numbers, and writes nothing.
struct Finite;

/// The elements of a list, or the members of a map or a struct.
#[derive(Default)]
struct Parts {
    index: usize,
    key: String,
    /// The variant of an enum that has these parts: a member around them.
    variant: Option<&'static str>,
}

impl Parts {
    fn of_variant(variant: &'static str) -> Self {
        Self {
            variant: Some(variant),
            ..Self::default()
        }
    }

    fn element(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), NotFinite> {
        let index = self.index;
        self.index += 1;
        self.part(index, value)
    }

    fn part(
        &self,
        step: impl fmt::Display,
        value: &(impl Serialize + ?Sized),
    ) -> Result<(), NotFinite> {
        value.serialize(Finite).map_err(|found| {
            let found = found.below(step);
            match self.variant {
                Some(variant) => found.below(variant),
                None => found,
            }
        })
    }
}

fn member(name: &str, value: &(impl Serialize + ?Sized)) -> Result<(), NotFinite> {
    value.serialize(Finite).map_err(|found| found.below(name))
}

macro_rules! examined {
    ($($method:ident: $type:ty),+) => {
        $(fn $method(self, _: $type) -> Result<(), NotFinite> {
            Ok(())
        })+
    };
}

macro_rules! parts {
    ($($method:ident($($argument:ty),*)),+) => {
        $(fn $method(self, $(_: $argument),*) -> Result<Parts, NotFinite> {
            Ok(Parts::default())
        })+
    };
}

impl Serializer for Finite {
    type Ok = ();
    type Error = NotFinite;
    type SerializeSeq = Parts;
    type SerializeTuple = Parts;
    type SerializeTupleStruct = Parts;
    type SerializeTupleVariant = Parts;
    type SerializeMap = Parts;
    type SerializeStruct = Parts;
    type SerializeStructVariant = Parts;

    examined!(
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32,
        serialize_i64: i64, serialize_i128: i128, serialize_u8: u8, serialize_u16: u16,
        serialize_u32: u32, serialize_u64: u64, serialize_u128: u128, serialize_char: char,
        serialize_str: &str, serialize_bytes: &[u8], serialize_unit_struct: &'static str
    );

    parts!(
        serialize_seq(Option<usize>),
        serialize_tuple(usize),
        serialize_tuple_struct(&'static str, usize),
        serialize_map(Option<usize>),
        serialize_struct(&'static str, usize)
    );

    fn serialize_f32(self, number: f32) -> Result<(), NotFinite> {
        self.serialize_f64(number.into())
    }

    fn serialize_f64(self, number: f64) -> Result<(), NotFinite> {
        match number.is_finite() {
            true => Ok(()),
            false => Err(NotFinite(Some(format!(" is {number}")))),
        }
    }

    fn serialize_none(self) -> Result<(), NotFinite> {
        Ok(())
    }

    fn serialize_unit(self) -> Result<(), NotFinite> {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), NotFinite> {
        value.serialize(self)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
    ) -> Result<(), NotFinite> {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), NotFinite> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), NotFinite> {
        member(variant, value)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts, NotFinite> {
        Ok(Parts::of_variant(variant))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts, NotFinite> {
        Ok(Parts::of_variant(variant))
    }
}

macro_rules! elements {
    ($($trait:ident: $method:ident),+) => {
        $(impl ser::$trait for Parts {
            type Ok = ();
            type Error = NotFinite;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotFinite> {
                self.element(value)
            }

            fn end(self) -> Result<(), NotFinite> {
                Ok(())
            }
        })+
    };
}

macro_rules! members {
    ($($trait:ident),+) => {
        $(impl ser::$trait for Parts {
            type Ok = ();
            type Error = NotFinite;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), NotFinite> {
                self.part(name, value)
            }

            fn end(self) -> Result<(), NotFinite> {
                Ok(())
            }
        })+
    };
}

elements!(
    SerializeSeq: serialize_element,
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field
);
members!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for Parts {
    type Ok = ();
    type Error = NotFinite;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), NotFinite> {
        self.key = match serde_json::to_value(key) {
            Ok(serde_json::Value::String(key)) => key,
            Ok(key) => key.to_string(),
            Err(_) => String::new(),
        };
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotFinite> {
        member(&self.key, value)
    }

    fn end(self) -> Result<(), NotFinite> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[derive(Serialize)]
    struct Measured {
        name: &'static str,
        ratios: Vec<Option<f32>>,
        others: BTreeMap<u8, (f64, Kind)>,
    }

    #[derive(Clone, Copy, Serialize)]
    enum Kind {
        None,
        At(f64),
        Between { least: f64, most: f64 },
        Pair(u8, f64),
    }

    #[test]
    fn numbers_that_json_has_not_are_found_at_their_place() {
        let found = |ratio, other, kind| {
            unrepresentable(&Measured {
                name: "a",
                ratios: vec![None, Some(ratio)],
                others: BTreeMap::from([(7, (other, kind))]),
            })
        };
        assert_eq!(found(1.5, 2.5, Kind::None), None);
        let expected = Some("/ratios/1 is NaN".to_owned());
        assert_eq!(found(f32::NAN, 2.5, Kind::None), expected);
        let expected = Some("/others/7/0 is inf".to_owned());
        assert_eq!(found(1.5, f64::INFINITY, Kind::None), expected);
        let expected = Some("/others/7/1/At is -inf".to_owned());
        assert_eq!(found(1.5, 2.5, Kind::At(f64::NEG_INFINITY)), expected);
        let between = Kind::Between {
            least: 0.0,
            most: f64::NAN,
        };
        let expected = Some("/others/7/1/Between/most is NaN".to_owned());
        assert_eq!(found(1.5, 2.5, between), expected);
        let expected = Some("/others/7/1/Pair/1 is NaN".to_owned());
        assert_eq!(found(1.5, 2.5, Kind::Pair(1, f64::NAN)), expected);
        assert_eq!(unrepresentable(&f64::NAN), Some("it is NaN".to_owned()));
        assert_eq!(unrepresentable(&serde_json::Value::Null), None);
    }
}
