//! The action `bench`: calls a tool many times, and shows how long the calls take.
//!
//! **Threads.** One for each call that is in flight, started and joined by [`measure`].

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mcplink::client::{CallOptions, Client};
use serde_json::json;

use crate::actions::is_error;
use crate::args::Bench;
use crate::failure::{Failure, TOOL_FAILED};
use crate::interrupt;
use crate::print;
use crate::values::Arguments;

/// The percentiles that are shown.
const SHOWN: [f64; 5] = [50.0, 90.0, 95.0, 99.0, 99.9];

/// The measured calls.
#[derive(Default)]
struct Measured {
    /// How long each successful call took, sorted.
    times: Vec<Duration>,
    /// The texts of errors, and how often they occurred.
    errors: BTreeMap<String, usize>,
    bytes: u64,
}

impl Measured {
    fn add(&mut self, other: Self) {
        self.times.extend(other.times);
        self.bytes += other.bytes;
        for (error, count) in other.errors {
            *self.errors.entry(error).or_default() += count;
        }
    }

    /// Returns the time within which `percent` of the calls ended.
    fn percentile(&self, percent: f64) -> Duration {
        let last = self.times.len().saturating_sub(1);
        let at = (percent / 100.0 * last as f64).round() as usize;
        self.times.get(at).copied().unwrap_or_default()
    }

    fn mean(&self) -> Duration {
        let count = u32::try_from(self.times.len()).unwrap_or(u32::MAX);
        let sum: Duration = self.times.iter().sum();
        sum.checked_div(count).unwrap_or_default()
    }
}

pub(crate) fn run(
    client: &Client,
    bench: &Bench,
    arguments: &Arguments,
    timeout: Option<Duration>,
    as_json: bool,
) -> Result<(), Failure> {
    if bench.warmup > 0 {
        measure(client, bench, arguments, timeout, bench.warmup);
    }
    let start = Instant::now();
    let mut measured = measure(client, bench, arguments, timeout, bench.calls);
    let took = start.elapsed();
    if interrupt::has_come() {
        return Err(Failure::interrupted());
    }
    measured.times.sort_unstable();
    match as_json {
        true => show_json(bench, &measured, took)?,
        false => show(bench, &measured, took)?,
    }
    match measured.errors.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(TOOL_FAILED, "")),
    }
}

/// Makes `count` calls, as many at once as `bench` says.
fn measure(
    client: &Client,
    bench: &Bench,
    arguments: &Arguments,
    timeout: Option<Duration>,
    count: usize,
) -> Measured {
    let begun = AtomicUsize::new(0);
    let call_on = || {
        let mut measured = Measured::default();
        while begun.fetch_add(1, Ordering::Relaxed) < count && !interrupt::has_come() {
            let mut options = CallOptions::new().cancel_with(&interrupt::token());
            if let Some(timeout) = timeout {
                options = options.timeout(timeout);
            }
            let start = Instant::now();
            let result = client.call_tool_raw(&bench.name, arguments, options);
            let took = start.elapsed();
            let error = match result {
                Ok(result) => {
                    measured.bytes += result.len() as u64;
                    is_error(&result).then(|| "the tool reported an error".to_owned())
                }
                Err(error) => Some(error.to_string()),
            };
            match error {
                None => measured.times.push(took),
                Some(error) => *measured.errors.entry(error).or_default() += 1,
            }
        }
        measured
    };
    let mut all = Measured::default();
    thread::scope(|scope| {
        let others = 1..bench.concurrency.min(count.max(1));
        // A thread that can't be started only lowers the number of calls at once.
        let threads: Vec<_> = others
            .filter_map(|_| thread::Builder::new().spawn_scoped(scope, call_on).ok())
            .collect();
        all.add(call_on());
        for thread in threads {
            // The threads do not panic.
            all.add(thread.join().unwrap_or_default());
        }
    });
    all
}

fn per_second(count: usize, took: Duration) -> f64 {
    let count = count as f64;
    count / took.as_secs_f64().max(f64::MIN_POSITIVE)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn show(bench: &Bench, measured: &Measured, took: Duration) -> Result<(), Failure> {
    let done = measured.times.len();
    let failed: usize = measured.errors.values().sum();
    print::line(&format!(
        "{} calls of {}, {} at once, in {:.3} s",
        done + failed,
        bench.name,
        bench.concurrency,
        took.as_secs_f64()
    ))?;
    print::line(&format!("{:.0} calls a second", per_second(done, took)))?;
    if let (Some(first), Some(last)) = (measured.times.first(), measured.times.last()) {
        let percentiles = SHOWN.map(|percent| {
            let time = millis(measured.percentile(percent));
            (format!("{percent} %"), time)
        });
        let rows = [("min".to_owned(), millis(*first))]
            .into_iter()
            .chain([("mean".to_owned(), millis(measured.mean()))])
            .chain(percentiles)
            .chain([("max".to_owned(), millis(*last))]);
        for (name, time) in rows {
            print::line(&format!("  {name:>6}  {time:10.3} ms"))?;
        }
    }
    for (error, count) in &measured.errors {
        print::line(&format!("  {count} failed: {error}"))?;
    }
    Ok(())
}

fn show_json(bench: &Bench, measured: &Measured, took: Duration) -> Result<(), Failure> {
    let percentiles: serde_json::Map<_, _> = SHOWN
        .iter()
        .map(|percent| {
            let time = millis(measured.percentile(*percent));
            (percent.to_string(), json!(time))
        })
        .collect();
    let limit = |time: Option<&Duration>| time.map(|time| millis(*time));
    let errors: Vec<_> = measured
        .errors
        .iter()
        .map(|(text, count)| json!({ "text": text, "count": count }))
        .collect();
    Ok(print::json(&json!({
        "tool": bench.name,
        "calls": measured.times.len() + measured.errors.values().sum::<usize>(),
        "concurrency": bench.concurrency,
        "seconds": took.as_secs_f64(),
        "callsPerSecond": per_second(measured.times.len(), took),
        "resultBytes": measured.bytes,
        "milliseconds": {
            "min": limit(measured.times.first()),
            "mean": millis(measured.mean()),
            "percentiles": percentiles,
            "max": limit(measured.times.last()),
        },
        "errors": errors,
    }))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_of_calls() {
        let measured = Measured {
            times: (1..=101).map(Duration::from_millis).collect(),
            ..Measured::default()
        };
        assert_eq!(measured.percentile(50.0), Duration::from_millis(51));
        assert_eq!(measured.percentile(99.0), Duration::from_millis(100));
        assert_eq!(measured.percentile(0.0), Duration::from_millis(1));
        assert_eq!(measured.mean(), Duration::from_millis(51));
        assert_eq!(Measured::default().percentile(99.9), Duration::ZERO);
        assert_eq!(Measured::default().mean(), Duration::ZERO);
    }
}
