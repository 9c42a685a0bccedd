//! The filter of tools: `--allow` and `--deny`, with patterns.

use std::sync::atomic::{AtomicBool, Ordering};

/// Which tools the proxy shows.
pub(super) struct Filter {
    allow: Vec<Pattern>,
    deny: Vec<Pattern>,
}

struct Pattern {
    text: String,
    /// Whether a tool had a name that fits.
    is_used: AtomicBool,
}

impl Pattern {
    fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            is_used: AtomicBool::new(false),
        }
    }

    fn fits(&self, name: &str) -> bool {
        let fits = matches(&self.text, name);
        if fits {
            self.is_used.store(true, Ordering::Relaxed);
        }
        fits
    }
}

impl Filter {
    pub(super) fn new(allow: &[String], deny: &[String]) -> Self {
        Self {
            allow: allow.iter().map(|text| Pattern::new(text)).collect(),
            deny: deny.iter().map(|text| Pattern::new(text)).collect(),
        }
    }

    /// Whether a tool is shown: a pattern allows it, or no pattern is given, and none denies it.
    pub(super) fn allows(&self, name: &str) -> bool {
        // Each pattern sees each name.
        let fits = |patterns: &[Pattern]| {
            let fitting = patterns.iter().filter(|pattern| pattern.fits(name));
            fitting.count() > 0
        };
        let (is_allowed, is_denied) = (fits(&self.allow), fits(&self.deny));
        (self.allow.is_empty() || is_allowed) && !is_denied
    }

    /// Returns the options whose patterns have fitted no tool.
    pub(super) fn unused(&self) -> Vec<String> {
        let both = [("--allow", &self.allow), ("--deny", &self.deny)];
        let of = |(option, patterns): (&str, &Vec<Pattern>)| {
            let unused = patterns
                .iter()
                .filter(|pattern| !pattern.is_used.load(Ordering::Relaxed));
            let unused = unused.map(|pattern| format!("{option} '{}'", pattern.text));
            unused.collect::<Vec<_>>()
        };
        both.into_iter().flat_map(of).collect()
    }
}

/// Whether a name fits a pattern, in which `*` stands for any text and `?` for one character.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut place) = (0, 0);
    // The place after the last star, and the place in the name where its text ends so far.
    let mut star: Option<(usize, usize)> = None;
    while at < name.len() {
        match pattern.get(place) {
            Some('*') => {
                star = Some((place + 1, at));
                place += 1;
            }
            Some(letter) if *letter == '?' || *letter == name[at] => {
                at += 1;
                place += 1;
            }
            _ => match &mut star {
                Some((after, end)) => {
                    *end += 1;
                    (place, at) = (*after, *end);
                }
                None => return false,
            },
        }
    }
    pattern[place..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_whole_names() {
        for (pattern, name, fits) in [
            ("read", "read", true),
            ("read", "read_all", false),
            ("read*", "read_all", true),
            ("*__write*", "files__write_text", true),
            ("a*b*c", "a_b_b_c", true),
            ("a*b*c", "a_b_b", false),
            ("?ead", "read", true),
            ("?", "", false),
            ("*", "", true),
            ("**", "é", true),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn what_is_denied_is_not_allowed() {
        let words = |words: &[&str]| {
            words
                .iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>()
        };
        let filter = Filter::new(&words(&["files__*"]), &words(&["*delete*"]));
        assert!(filter.allows("files__read"));
        assert_eq!(filter.unused(), ["--deny '*delete*'"]);
        assert!(!filter.allows("files__delete_all") && !filter.allows("web__get"));
        assert!(filter.unused().is_empty());
        assert!(Filter::new(&[], &[]).allows("anything"));
    }
}
