//! Where a byte is in a text.
//!
//! [`memchr::memchr`] asks the processor what it can do, once in a process. In a virtual machine that takes longer than the first request: each
//! question goes to its host. What every processor of an architecture can do needs no question, and is as quick for what is not large.

/// What is shorter is searched without a question.
#[cfg(target_arch = "x86_64")]
const LARGE: usize = 4 << 10;

/// The first place of a byte.
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

/// The first place of either byte.
#[inline]
pub(super) fn find_either(bytes: [u8; 2], text: &[u8]) -> Option<usize> {
    let [a, b] = bytes;
    #[cfg(target_arch = "x86_64")]
    if text.len() < LARGE
        && let Some(two) = memchr::arch::x86_64::sse2::memchr::Two::new(a, b)
    {
        return two.find(text);
    }
    memchr::memchr2(a, b, text)
}
