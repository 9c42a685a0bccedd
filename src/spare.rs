//! The memory of large messages, used again.
//!
//! The system gives memory page by page, zeroed, and for a large message that costs more than all that is done with it. A thread that serves
//! one request after the other keeps the memory of one message for the next, as long as it is busy.

use std::cell::Cell;

/// Less is not worth keeping.
const SMALLEST: usize = 64 << 10;
/// More is given back.
const LARGEST: usize = 4 << 20;

enum Spare {
    NotKept,
    Empty,
    Kept(Vec<u8>),
}

thread_local! {
    static SPARE: Cell<Spare> = const { Cell::new(Spare::NotKept) };
}

/// Puts something in the place of what is kept. A thread that ends keeps nothing.
fn replace(spare: Spare) -> Spare {
    let replaced = SPARE.try_with(|place| place.replace(spare));
    replaced.unwrap_or(Spare::NotKept)
}

/// From now on this thread keeps memory. What was kept is given back: to be called again before the thread is idle for long.
#[cfg(any(feature = "http-server", test))]
pub(crate) fn keep() {
    drop(replace(Spare::Empty));
}

/// Memory that is no longer needed.
pub(crate) fn give(memory: Vec<u8>) {
    if !(SMALLEST..=LARGEST).contains(&memory.capacity()) {
        return;
    }
    let kept = match replace(Spare::NotKept) {
        Spare::NotKept => return,
        Spare::Kept(other) if other.capacity() >= memory.capacity() => other,
        Spare::Kept(_) | Spare::Empty => memory,
    };
    replace(Spare::Kept(kept));
}

/// Empty memory for about so many bytes: what was kept if they are many, and perhaps none.
pub(crate) fn take(bytes: usize) -> Vec<u8> {
    if bytes < SMALLEST {
        return Vec::new();
    }
    match replace(Spare::NotKept) {
        Spare::NotKept => Vec::new(),
        kept => {
            replace(Spare::Empty);
            match kept {
                Spare::Kept(mut memory) => {
                    memory.clear();
                    memory
                }
                _ => Vec::new(),
            }
        }
    }
}

/// Makes room for so many more bytes.
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

/// Gives back what a buffer does not use, if there is memory to copy the rest to.
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
