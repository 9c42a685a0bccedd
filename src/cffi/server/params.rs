//! Functions that add arguments of one type to the definition of a tool, with bounds and defaults,
//! and the schemas that they share with the fields of forms.

use std::ffi::c_char;

use serde_json::{Value, json};

use super::tool::{mcplink_tool_t, type_of};
use crate::cffi::arg;
use crate::cffi::entry::Outcome;
use crate::cffi::json::json_value;
use crate::cffi::refusal::set;
use crate::cffi::text::{missing, name, optional};
use crate::error::{Error, ErrorKind, Result};

/// Adds a description to the schema of an argument or a field; NULL for no description.
///
/// # Safety
///
/// The description is NULL or ends in NUL.
pub(super) unsafe fn described(mut schema: Value, description: *const c_char) -> Outcome<Value> {
    // SAFETY: the safety contract of this function.
    if let Some(description) = unsafe { optional(description, "description") }? {
        schema["description"] = description.into();
    }
    Ok(schema)
}

/// Makes the schema of an integer. `i64::MIN` and `i64::MAX` are no bounds.
pub(super) fn integer(min: i64, max: i64) -> Outcome<Value> {
    if min > max {
        return Err(inverted().into());
    }
    let least = (min > i64::MIN).then(|| min.into());
    let most = (max < i64::MAX).then(|| max.into());
    Ok(bounded("integer", least, most))
}

/// Makes the schema of a number. Infinities are no bounds.
pub(super) fn number(min: f64, max: f64) -> Outcome<Value> {
    if min.is_nan() || max.is_nan() || min == f64::INFINITY || max == f64::NEG_INFINITY {
        let text = "no number is within these bounds";
        return Err(Error::new(ErrorKind::Invalid, text).into());
    }
    if min > max {
        return Err(inverted().into());
    }
    Ok(bounded("number", bound(min), bound(max)))
}

/// Makes the schema of a string that must be one of several values.
///
/// # Safety
///
/// `values` is NULL or points to `count` texts, each NULL or ending in NUL.
pub(super) unsafe fn choice(values: *const *const c_char, count: usize) -> Outcome<Value> {
    if values.is_null() {
        return Err(missing("values").into());
    }
    if count == 0 {
        return Err(Error::new(ErrorKind::Invalid, "a choice needs at least one value").into());
    }
    let values = (0..count)
        // SAFETY: the safety contract of this function.
        .map(|at| unsafe { name(*values.add(at), "a value") })
        .collect::<Result<Vec<_>>>()?;
    Ok(json!({ "type": "string", "enum": values }))
}

/// Adds bounds of the number of items to the schema of an array. `usize::MAX` is no upper bound.
pub(super) fn sized(mut schema: Value, min_items: usize, max_items: usize) -> Outcome<Value> {
    if min_items > max_items {
        let text = "min_items must not be greater than max_items";
        return Err(Error::new(ErrorKind::Invalid, text).into());
    }
    if min_items > 0 {
        schema["minItems"] = min_items.into();
    }
    if max_items < usize::MAX {
        schema["maxItems"] = max_items.into();
    }
    Ok(schema)
}

/// Makes the schema of a number with bounds; `None` for no bound.
fn bounded(kind: &str, least: Option<Value>, most: Option<Value>) -> Value {
    let mut schema = json!({ "type": kind });
    if let Some(least) = least {
        schema["minimum"] = least;
    }
    if let Some(most) = most {
        schema["maximum"] = most;
    }
    schema
}

fn inverted() -> Error {
    Error::new(ErrorKind::Invalid, "min must not be greater than max")
}

/// Returns a finite bound as JSON. A whole bound has no fraction.
fn bound(bound: f64) -> Option<Value> {
    if !bound.is_finite() {
        return None;
    }
    let is_whole = bound.trunc() == bound && bound.abs() <= 9e15;
    Some(if is_whole {
        (bound as i64).into()
    } else {
        bound.into()
    })
}

actions! {
    set(tool: mcplink_tool_t);

    /// Adds an integer argument with bounds. Calls are checked as for mcplink_tool_add_param.
    ///
    /// param: the name of the argument.
    /// flag: MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
    /// min, max: the smallest and the largest valid value; INT64_MIN and INT64_MAX for no bound.
    /// description: the meaning of the argument, for models; NULL for no description.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when the name is in use already, or min is
    /// greater than max.
    fn mcplink_tool_add_integer(
        param: *const c_char,
        flag: arg::mcplink_param_flag,
        min: i64,
        max: i64,
        description: *const c_char,
    ) {
        let schema = described(integer(min, max)?, description)?;
        tool.add(name(param, "param")?, flag, schema)?;
    }

    /// Adds a number argument with bounds. Calls are checked as for mcplink_tool_add_param.
    ///
    /// param: the name of the argument.
    /// flag: MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
    /// min, max: the smallest and the largest valid value; -INFINITY and INFINITY for no bound.
    /// description: the meaning of the argument, for models; NULL for no description.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when the name is in use already, min is
    /// greater than max, or a bound is NaN.
    fn mcplink_tool_add_number(
        param: *const c_char,
        flag: arg::mcplink_param_flag,
        min: f64,
        max: f64,
        description: *const c_char,
    ) {
        let schema = described(number(min, max)?, description)?;
        tool.add(name(param, "param")?, flag, schema)?;
    }

    /// Adds a string argument that must be one of several values. Calls are checked as for
    /// mcplink_tool_add_param.
    ///
    /// param: the name of the argument.
    /// flag: MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
    /// values, count: the valid values, texts that end in NUL; at least one.
    /// description: the meaning of the argument, for models; NULL for no description.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when the name is in use already.
    fn mcplink_tool_add_choice(
        param: *const c_char,
        flag: arg::mcplink_param_flag,
        values: *const *const c_char,
        count: usize,
        description: *const c_char,
    ) {
        let schema = described(choice(values, count)?, description)?;
        tool.add(name(param, "param")?, flag, schema)?;
    }

    /// Adds an array argument whose items have one type. Calls are checked as for
    /// mcplink_tool_add_param.
    ///
    /// param: the name of the argument.
    /// flag: MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
    /// items: the type of the items.
    /// min_items, max_items: the smallest and the largest valid number of items; SIZE_MAX as
    /// max_items for no bound.
    /// description: the meaning of the argument, for models; NULL for no description.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when the name is in use already, or
    /// min_items is greater than max_items.
    fn mcplink_tool_add_array(
        param: *const c_char,
        flag: arg::mcplink_param_flag,
        items: arg::mcplink_param_type,
        min_items: usize,
        max_items: usize,
        description: *const c_char,
    ) {
        let items = json!({ "type": "array", "items": { "type": type_of(items)? } });
        let schema = described(sized(items, min_items, max_items)?, description)?;
        tool.add(name(param, "param")?, flag, schema)?;
    }

    /// Sets the default of an argument that was added before. The model sees the default, and the
    /// functions that read one argument, such as mcplink_request_string, return it for a call
    /// without the argument. mcplink_request_args contains the arguments of the call only.
    ///
    /// param: the name of an argument that was added to the tool, and that is optional.
    /// value, len: the default as JSON, for example 10 or "name" with its quotes; len may be
    /// MCPLINK_NUL for text that ends in NUL.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when there is no such argument, the argument
    /// is required, or the default does not fit its schema.
    fn mcplink_tool_set_default_value(param: *const c_char, value: *const c_char, len: usize) {
        let (param, value) = (name(param, "param")?, json_value(value, len, "value")?);
        tool.set_default(param, value)?;
    }
}
