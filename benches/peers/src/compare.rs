//! Workloads, rounds and medians.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::Maker;

/// The number of rounds of each workload. One more round, the warm-up, is not counted.
const ROUNDS: usize = 9;
/// The minimum time of one peer with one workload in a round.
const TURN: Duration = Duration::from_millis(150);
pub const IN_FLIGHT: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Calls one after the other, each with a message of this many bytes.
    Echo(usize),
    /// Calls of 100 bytes, [`IN_FLIGHT`] of them at a time. A client that blocks has a thread for
    /// each.
    InFlight,
    /// The same, of a client that starts all calls on one thread.
    Started,
    /// A list of [`TOOLS`](crate::TOOLS) tools.
    List,
    /// A call that reports progress 100 times.
    Progress,
}

impl Workload {
    pub const OF_CLIENTS: [Self; 7] = [
        Self::Echo(100),
        Self::Echo(10_000),
        Self::Echo(1_000_000),
        Self::List,
        Self::Progress,
        Self::InFlight,
        Self::Started,
    ];
    pub const OF_SERVERS: &[Self] = Self::OF_CLIENTS.split_at(6).0;

    fn title(self) -> String {
        match self {
            Self::Echo(bytes) => format!("one call at a time, {bytes} bytes"),
            Self::InFlight => format!("{IN_FLIGHT} calls at a time, 100 bytes"),
            Self::Started => format!("{IN_FLIGHT} started calls, 100 bytes"),
            Self::List => "tools/list".to_owned(),
            Self::Progress => "a call with 100 progress messages".to_owned(),
        }
    }
}

/// Returns a typical text: with line ends, quotes and a letter beyond ASCII.
pub fn text(bytes: usize) -> String {
    let unit = "The quick brown fox jumps over the lazy dog and keeps running ever on.\nHe said \"stop\" at the café; ";
    let mut text = unit.repeat(bytes / unit.len());
    text.extend(std::iter::repeat_n('x', bytes - text.len()));
    text
}

/// A peer that is measured.
pub trait Measured {
    /// Runs a workload once, checks the answers, and returns the number of calls.
    fn play(&mut self, workload: Workload, text: &str) -> Result<usize>;
}

pub struct Table {
    title: String,
    peers: Vec<(Maker, Box<dyn Measured>)>,
}

impl Table {
    pub fn of(title: &str, start: impl Fn(Maker) -> Result<Box<dyn Measured>>) -> Result<Self> {
        let peers = Maker::ALL.map(|maker| Ok((maker, start(maker)?)));
        Ok(Self {
            title: title.to_owned(),
            peers: peers.into_iter().collect::<Result<_>>()?,
        })
    }

    pub fn run(mut self, workloads: &[Workload]) -> Result<()> {
        print!("\n{:<36}", self.title);
        self.peers
            .iter()
            .for_each(|(maker, _)| print!("{:>20}", maker.name()));
        println!();
        for workload in workloads {
            let medians = self.rounds(*workload)?;
            print!("{:<36}", workload.title());
            medians
                .iter()
                .for_each(|(micros, ratio)| print!("{micros:>12.1} ({ratio:>4.1}x)"));
            println!();
        }
        Ok(())
    }

    /// Returns, for each peer, the microseconds per call and the ratio to the first peer's.
    fn rounds(&mut self, workload: Workload) -> Result<Vec<(f64, f64)>> {
        let text = match workload {
            Workload::Echo(bytes) => text(bytes),
            _ => text(100),
        };
        let mut times = vec![Vec::new(); self.peers.len()];
        for round in 0..=ROUNDS {
            for ((_, peer), times) in self.peers.iter_mut().zip(&mut times) {
                let (began, mut calls) = (Instant::now(), 0);
                while began.elapsed() < TURN {
                    calls += peer.play(workload, &text)?;
                }
                if round > 0 {
                    times.push(began.elapsed().as_secs_f64() * 1e6 / calls as f64);
                }
            }
        }
        let ratios = |own: &[f64]| {
            own.iter()
                .zip(&times[0])
                .map(|(own, bare)| own / bare)
                .collect()
        };
        Ok(times
            .iter()
            .map(|own| (median(own.clone()), median(ratios(own))))
            .collect())
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
