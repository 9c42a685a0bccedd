//! Which instance of the program is used.
//!
//! - An instance that is in use stays in use while it lives.
//! - Without one, an instance that is alone is used.
//! - When the instance in use ends, the instances beside it are not used without a choice. An
//!   instance that comes later and shows the same title is used again; if the ended one had no
//!   title, the same folder counts.

use std::collections::BTreeSet;

use crate::instances::Found;

/// The instances that may be used, and the one that is in use.
#[derive(Debug, Default)]
pub(super) struct Choice {
    /// The title, folder, process number or id of the instances that may be used.
    selector: Option<String>,
    /// The instances that may be used, the oldest first.
    candidates: Vec<Found>,
    current: Option<Found>,
    /// The instance that was in use last, while none is in use.
    ended: Option<Found>,
    /// The ids of the instances that were beside the ended one. They are not used without a choice.
    beside: BTreeSet<String>,
}

impl Choice {
    pub(super) fn new(selector: Option<String>) -> Self {
        Self {
            selector,
            ..Self::default()
        }
    }

    pub(super) fn candidates(&self) -> &[Found] {
        &self.candidates
    }

    pub(super) fn current(&self) -> Option<&Found> {
        self.current.as_ref()
    }

    /// Whether somebody has to choose, or can choose another instance.
    pub(super) fn is_open(&self) -> bool {
        self.candidates.len() > 1 || self.current.is_none() && !self.candidates.is_empty()
    }

    /// Takes the list of the instances that are published now.
    pub(super) fn update(&mut self, listed: Vec<Found>) {
        let before = std::mem::take(&mut self.candidates);
        let current = self.current.take();
        let is_current = |one: &Found| current.as_ref().is_some_and(|own| own.id == one.id);
        // The instance in use may have another title by now.
        let may_be_used =
            |one: &Found| is_current(one) || self.selector.as_ref().is_none_or(|word| one.is(word));
        self.candidates = listed.into_iter().filter(may_be_used).collect();
        self.current = self.candidates.iter().find(|one| is_current(one)).cloned();
        if self.current.is_some() {
            return;
        }
        if let Some(current) = current {
            let others = before.into_iter().map(|one| one.id);
            self.beside = others.filter(|id| *id != current.id).collect();
            self.ended = Some(current);
        }
        if let Some(next) = self.next() {
            self.choose(next);
        }
    }

    /// Returns the instance that is used without a choice, if there is one.
    fn next(&self) -> Option<Found> {
        let new = || {
            let all = self.candidates.iter();
            all.filter(|one| !self.beside.contains(&one.id))
        };
        let is_again = |one: &&Found| {
            let ended = self.ended.as_ref();
            ended.is_some_and(|ended| match &ended.title {
                Some(_) => one.title == ended.title,
                None => ended.folder.is_some() && one.folder == ended.folder,
            })
        };
        let only = |mut all: Vec<&Found>| match all.len() {
            1 => all.pop().cloned(),
            _ => None,
        };
        let is_alone = self.candidates.len() == 1;
        only(new().filter(is_again).collect()).or_else(|| {
            let alone = only(new().collect());
            alone.filter(|_| is_alone)
        })
    }

    /// Uses an instance from now on.
    pub(super) fn choose(&mut self, instance: Found) {
        self.current = Some(instance);
        self.ended = None;
        self.beside.clear();
    }

    /// Finds the instance that a word names.
    pub(super) fn find(&self, word: &str) -> Result<Found, String> {
        let fitting: Vec<&Found> = self.candidates.iter().filter(|one| one.is(word)).collect();
        match fitting[..] {
            [one] => Ok(one.clone()),
            [] => Err(format!("no instance is '{word}'. {}", self.list())),
            _ => Err(format!(
                "'{word}' fits {} instances: name one by its id or process number. {}",
                fitting.len(),
                self.list()
            )),
        }
    }

    /// Returns why no instance is in use, and what to do. `start` tells what starts the program.
    pub(super) fn absence(&self, program: &str, start: &str) -> String {
        let program = match &self.selector {
            Some(word) => format!("the program '{program}' ('{word}')"),
            None => format!("the program '{program}'"),
        };
        match (&self.ended, self.candidates.is_empty()) {
            (_, true) => format!("{program} is not running: {start}"),
            (None, false) => format!(
                "several instances of {program} are running: choose one first. {}",
                self.list()
            ),
            (Some(ended), false) => format!(
                "the instance of {program} that was in use has ended ({ended}): choose another one \
                 first. {}",
                self.list()
            ),
        }
    }

    fn list(&self) -> String {
        let all: Vec<String> = self.candidates.iter().map(Found::to_string).collect();
        format!("Instances: {}", all.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance(id: &str, title: Option<&str>) -> Found {
        Found {
            id: id.to_owned(),
            name: "editor".to_owned(),
            title: title.map(str::to_owned),
            folder: Some(format!("/{id}")),
            process: 7,
            started: "2026-07-28T00:00:00Z".to_owned(),
            version: "1.0".to_owned(),
        }
    }

    /// Returns the ids that are in use after each of these lists.
    fn used(choice: &mut Choice, lists: &[&[(&str, Option<&str>)]]) -> Vec<Option<String>> {
        let after = |list: &&[(&str, Option<&str>)]| {
            let all = list.iter().map(|(id, title)| instance(id, *title));
            choice.update(all.collect());
            choice.current().map(|one| one.id.clone())
        };
        lists.iter().map(after).collect()
    }

    fn ids(ids: &[&str]) -> Vec<Option<String>> {
        let id = |id: &&str| (!id.is_empty()).then(|| (*id).to_owned());
        ids.iter().map(id).collect()
    }

    const A: (&str, Option<&str>) = ("a", Some("one"));
    const B: (&str, Option<&str>) = ("b", Some("two"));

    #[test]
    fn an_instance_that_is_alone_is_used_as_long_as_it_lives() {
        let mut choice = Choice::default();
        let lists: &[&[_]] = &[&[], &[A], &[A, B], &[A], &[], &[B]];
        assert_eq!(used(&mut choice, lists), ids(&["", "a", "a", "a", "", "b"]));
    }

    #[test]
    fn several_instances_need_a_choice() {
        let mut choice = Choice::default();
        assert_eq!(used(&mut choice, &[&[A, B]]), ids(&[""]));
        assert!(choice.is_open());
        let error = |word: &str| choice.find(word).expect_err("it fits not one");
        assert!(error("7").contains("fits 2 instances"));
        assert!(error("three").contains("no instance"));
        let b = choice.find("two").expect("one has the title");
        choice.choose(b);
        assert_eq!(used(&mut choice, &[&[A, B], &[B], &[A, B]]), ids(&["b"; 3]));
    }

    #[test]
    fn an_instance_beside_the_ended_one_is_not_used() {
        let mut choice = Choice::default();
        let c = ("c", Some("two"));
        let lists: &[&[_]] = &[&[B], &[A, B], &[A], &[A], &[A, c], &[A, c]];
        assert_eq!(
            used(&mut choice, lists),
            ids(&["b", "b", "", "", "c", "c"]),
            "only the one with the same title is used again"
        );
        let mut choice = Choice::default();
        let lists: &[&[_]] = &[&[A], &[A, B], &[B], &[], &[c]];
        assert_eq!(used(&mut choice, lists), ids(&["a", "a", "", "", "c"]));
        // An instance that was beside it and has the same title was not started again.
        let same = ("s", Some("one"));
        let mut choice = Choice::default();
        let lists: &[&[_]] = &[&[A], &[A, same], &[same]];
        assert_eq!(used(&mut choice, lists), ids(&["a", "a", ""]));
        assert!(choice.is_open());
        assert!(choice.absence("editor", "").contains("has ended"));
    }

    #[test]
    fn a_selector_hides_other_instances() {
        let mut choice = Choice::new(Some("one".to_owned()));
        let renamed = ("a", Some("three"));
        let lists: &[&[_]] = &[&[B], &[A, B], &[renamed, B], &[B]];
        assert_eq!(used(&mut choice, lists), ids(&["", "a", "a", ""]));
        assert!(!choice.is_open());
    }
}
