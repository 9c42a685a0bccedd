//! Opens a URL in the browser of the user.

use std::io;
use std::ptr;

use windows_sys::Win32::UI::Shell::ShellExecuteW;
use windows_sys::Win32::UI::WindowsAndMessaging::SW_SHOWNORMAL;

use super::fd::wide;

/// Opens a URL with the program that the user has chosen for such URLs. The URL does not become
/// part of a command line. The caller must check that the URL begins with `http://` or `https://`,
/// because any other text may name a program.
pub(crate) fn open(url: &str) -> io::Result<()> {
    let (operation, url) = (wide("open"), wide(url));
    let (window, none) = (ptr::null_mut(), ptr::null());
    // SAFETY: both texts end in NUL, and the other pointers may be null.
    let result = unsafe {
        ShellExecuteW(
            window,
            operation.as_ptr(),
            url.as_ptr(),
            none,
            none,
            SW_SHOWNORMAL,
        )
    };
    // Results up to 32 are errors, by the contract of the function.
    match result.addr() {
        code @ ..=32 => Err(io::Error::other(format!("ShellExecute failed: {code}"))),
        _ => Ok(()),
    }
}
