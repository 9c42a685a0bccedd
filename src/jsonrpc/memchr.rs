//! Search for a byte in a text.
//!
//! [`memchr::memchr`] detects the processor's features once per process. In a virtual machine the
//! detection takes longer than the first request, because the hypervisor intercepts each `CPUID`
//! instruction. The baseline instructions of an architecture need no detection, and are as fast for
//! short texts.

/// The minimum length of a text that is searched with `memchr`. Shorter texts are searched with the
/// baseline instructions.
#[cfg(target_arch = "x86_64")]
const LARGE: usize = 4 << 10;

/// Returns the index of the first occurrence of `byte` in a text.
#[inline]
pub(crate) fn find(byte: u8, text: &[u8]) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if text.len() < LARGE
        && let Some(one) = memchr::arch::x86_64::sse2::memchr::One::new(byte)
    {
        return one.find(text);
    }
    memchr::memchr(byte, text)
}

/// Returns the index of the first byte in a text that is equal to either of two given bytes.
#[inline]
pub(crate) fn find_either(bytes: [u8; 2], text: &[u8]) -> Option<usize> {
    let [a, b] = bytes;
    #[cfg(target_arch = "x86_64")]
    if text.len() < LARGE
        && let Some(two) = memchr::arch::x86_64::sse2::memchr::Two::new(a, b)
    {
        return two.find(text);
    }
    memchr::memchr2(a, b, text)
}
