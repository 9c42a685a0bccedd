//! A per-thread cache of one buffer for large messages.
//!
//! The operating system zeroes new memory page by page. For a large message, zeroing costs more
//! than the rest of the processing. While a thread serves requests one after the other, it reuses
//! the buffer of one message for the next message.

use std::cell::Cell;

/// The minimum size of a cached buffer. Smaller buffers are not cached.
const SMALLEST: usize = 64 << 10;
/// The maximum size of a cached buffer. Larger buffers are freed.
const LARGEST: usize = 4 << 20;

enum Cache {
    Disabled,
    Empty,
    Full(Vec<u8>),
}

thread_local! {
    static CACHE: Cell<Cache> = const { Cell::new(Cache::Disabled) };
}

/// Sets the cache of this thread and returns the previous value. If the thread-locals of the thread
/// are already destroyed, the function drops `spare` and returns `Disabled`.
fn replace(spare: Cache) -> Cache {
    let replaced = CACHE.try_with(|cell| cell.replace(spare));
    replaced.unwrap_or(Cache::Disabled)
}

/// Enables the cache of this thread, and frees the cached buffer if there is one. A thread calls
/// this function again before a long idle time, so that an idle thread has no cached buffer.
#[cfg(any(feature = "http-server", test))]
pub(crate) fn keep() {
    drop(replace(Cache::Empty));
}

/// Gives the cache a buffer that is no longer needed. The cache stores the larger of this buffer
/// and the cached buffer, and frees the other one. It frees `memory` if the cache of this thread is
/// disabled, or if the capacity is outside of the cached sizes.
pub(crate) fn give(memory: Vec<u8>) {
    if !(SMALLEST..=LARGEST).contains(&memory.capacity()) {
        return;
    }
    let larger = match replace(Cache::Disabled) {
        Cache::Disabled => return,
        Cache::Full(other) if other.capacity() >= memory.capacity() => other,
        Cache::Full(_) | Cache::Empty => memory,
    };
    replace(Cache::Full(larger));
}

/// Returns an empty buffer for about `bytes` bytes. If `bytes` is at least 64 KiB and the cache has
/// a buffer, the function returns the cached buffer. Otherwise it returns a new buffer without
/// capacity. The capacity of the returned buffer can be smaller than `bytes`.
pub(crate) fn take(bytes: usize) -> Vec<u8> {
    if bytes < SMALLEST {
        return Vec::new();
    }
    match replace(Cache::Disabled) {
        Cache::Disabled => Vec::new(),
        cached => {
            replace(Cache::Empty);
            match cached {
                Cache::Full(mut memory) => {
                    memory.clear();
                    memory
                }
                _ => Vec::new(),
            }
        }
    }
}

/// Reserves capacity for `more` bytes. If the buffer has to grow and the cached buffer is larger,
/// the content moves to the cached buffer.
pub(crate) fn reserve(buffer: &mut Vec<u8>, more: usize) {
    let bytes = buffer.len() + more;
    if buffer.capacity() < bytes {
        let mut spare = take(bytes);
        if spare.capacity() > buffer.capacity() {
            spare.extend_from_slice(buffer);
            *buffer = spare;
        }
    }
    buffer.reserve(more);
}

/// Frees the unused capacity of a buffer. Leaves the buffer unchanged if there is no memory for a
/// smaller copy.
#[cfg(feature = "http-server")]
pub(crate) fn shrink(buffer: &mut Vec<u8>) {
    let mut exact = Vec::new();
    if buffer.capacity() > buffer.len() && exact.try_reserve_exact(buffer.len()).is_ok() {
        exact.extend_from_slice(buffer);
        *buffer = exact;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_keeps_memory_gets_it_again() {
        give(Vec::with_capacity(SMALLEST));
        assert_eq!(take(SMALLEST).capacity(), 0, "this one keeps none");
        keep();
        give(Vec::with_capacity(SMALLEST - 1));
        give(Vec::with_capacity(LARGEST + 1));
        assert_eq!(take(SMALLEST).capacity(), 0);
        give(vec![1; SMALLEST]);
        give(vec![1; 2 * SMALLEST]);
        give(vec![1; SMALLEST]);
        assert_eq!(
            take(SMALLEST - 1).capacity(),
            0,
            "for little it is too good"
        );
        let again = take(SMALLEST);
        assert_eq!((again.len(), again.capacity()), (0, 2 * SMALLEST));
        assert_eq!(take(SMALLEST).capacity(), 0);
        give(again);
        let mut buffer = b"begun".to_vec();
        reserve(&mut buffer, SMALLEST);
        assert_eq!((&*buffer, buffer.capacity()), (&b"begun"[..], 2 * SMALLEST));
        give(buffer);
        keep();
        assert_eq!(take(SMALLEST).capacity(), 0);
    }
}
