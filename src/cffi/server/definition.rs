//! The flag of an argument in the definition of a tool or prompt.

use crate::error::Result;

enumeration! {
    /// Whether an argument of a tool or prompt, or a field of a form, is required.
    #[repr(C)]
    pub enum mcplink_param_flag {
        /// An optional argument or field, which may be omitted.
        MCPLINK_PARAM_OPTIONAL = 0,
        /// A required argument or field.
        MCPLINK_PARAM_REQUIRED = 32768,
    }
}

/// Reads a flag that C passes. Returns whether it marks an argument as required.
pub(super) fn required(flag: i32) -> Result<bool> {
    let flag = mcplink_param_flag::read(flag, "flag")?;
    Ok(flag == mcplink_param_flag::MCPLINK_PARAM_REQUIRED)
}
