//! Another Rust library in the same host: with threads, panics that it catches, and a standard library of its own.

use std::panic::catch_unwind;

#[unsafe(no_mangle)]
pub extern "C" fn other_work(count: u32) -> u32 {
    let threads: Vec<_> = (0..count).map(|n| std::thread::spawn(move || n.to_string().len() as u32)).collect();
    let sum: u32 = threads.into_iter().map(|thread| thread.join().unwrap_or(0)).sum();
    std::panic::set_hook(Box::new(|_| {}));
    let caught = catch_unwind(|| if sum > 0 { panic!("on purpose") });
    drop(std::panic::take_hook());
    if caught.is_err() { sum } else { 0 }
}
