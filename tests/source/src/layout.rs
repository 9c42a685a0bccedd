//! The structure of `src`: which layer may use which, how long files and functions are, and how
//! many circles of imports there are.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// Lowest first: a layer may use those before it.
const LAYERS: [&str; 12] = [
    "error",
    "jsonrpc",
    "schema",
    "skills",
    "validation",
    "transport",
    "private_files",
    "auth",
    "protocol",
    "client",
    "server",
    "cffi",
];
/// Modules that belong to no layer: fallible allocation, fair queues, shares of tables, memory that is
/// used again, and locks.
const TOOLS: [&str; 5] = ["buffer_cache", "fair_queue", "fallible", "shares", "sync"];

/// How many circles of imports there are between files. The number may only shrink.
const CIRCLES: usize = 5;
/// How many files the largest circle has. The number may only shrink.
const LARGEST_CIRCLE: usize = 6;

/// The longest source file, in lines.
const FILE_LINES: usize = 800;
/// The longest function, in lines of code: without blank lines and comments.
const FUNCTION_LINES: usize = 60;
/// The functions that are longer today, with their lines of code. The list may only shrink.
const LONG_FUNCTIONS: [(&str, usize); 4] = [
    ("jsonrpc/message.rs: of", 119),
    ("protocol/core/ending.rs: close", 66),
    ("protocol/writer.rs: flush", 76),
    ("transport/http/client/refusal.rs: refusal", 61),
];

/// A source file of the library.
struct Source {
    /// Relative to `src`.
    path: PathBuf,
    text: String,
    /// The functions that not only tests have, with their lines of code.
    functions: BTreeMap<String, usize>,
}

impl Source {
    fn of(path: PathBuf, text: String, items: &[syn::Item]) -> Self {
        let mut functions = Functions {
            lines: text.lines().collect(),
            found: BTreeMap::new(),
        };
        for item in items {
            functions.visit_item(item);
        }
        let functions = functions.found;
        Self {
            path,
            text,
            functions,
        }
    }

    /// The module that the file defines: its names below `crate`.
    fn module(&self) -> Vec<String> {
        let stem = self.path.with_extension("");
        let mut names: Vec<String> = stem
            .iter()
            .map(|name| name.to_str().unwrap().to_owned())
            .collect();
        if matches!(names.last().map(String::as_str), Some("mod" | "lib")) {
            names.pop();
        }
        names
    }
}

pub(crate) fn root() -> PathBuf {
    crate::root().join("src")
}

pub(crate) fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = entries
        .flat_map(|entry| {
            let path = entry.unwrap().path();
            if path.is_dir() {
                rust_files(&path)
            } else {
                vec![path]
            }
        })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    files.sort();
    files
}

/// Parses the source once for all tests.
fn library() -> &'static Crate {
    static LIBRARY: LazyLock<Crate> = LazyLock::new(Crate::parse);
    &LIBRARY
}

/// Whether an attribute lets an item stand in tests and fuzz targets only.
fn is_test_only(attribute: &syn::Attribute) -> bool {
    let syn::Meta::List(list) = &attribute.meta else {
        return attribute.path().is_ident("test");
    };
    let condition = list.tokens.to_string();
    list.path.is_ident("cfg")
        && (condition == "test"
            || condition == "fuzzing"
            || condition.starts_with("all (test")
            || condition.starts_with("all(test"))
}

fn without_tests(items: Vec<syn::Item>) -> Vec<syn::Item> {
    items
        .into_iter()
        .filter(|item| !attributes(item).iter().any(is_test_only))
        .map(|item| match item {
            syn::Item::Mod(mut module) => {
                if let Some((_, items)) = &mut module.content {
                    *items = without_tests(std::mem::take(items));
                }
                syn::Item::Mod(module)
            }
            item => item,
        })
        .collect()
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::ForeignMod(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// What a module has: items, names that it imports or re-exports, and globs.
#[derive(Default)]
struct Module {
    file: usize,
    items: HashSet<String>,
    imports: HashMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
}

/// The files of the crate, its modules by their path, and the paths that each file uses. What is
/// parsed stays on its thread, so nothing of that is kept.
#[derive(Default)]
struct Crate {
    sources: Vec<Source>,
    modules: HashMap<Vec<String>, Module>,
    /// By file: the module in which a path stands, and the path.
    uses: Vec<Vec<(Vec<String>, Vec<String>)>>,
}

impl Crate {
    fn parse() -> Self {
        let root = root();
        let mut all = Self::default();
        for path in rust_files(&root) {
            let text = fs::read_to_string(&path).unwrap();
            let file = syn::parse_file(&text).unwrap();
            let is_test = file.attrs.iter().any(is_test_only);
            let items = if is_test { Vec::new() } else { file.items };
            let items = without_tests(items);
            let path = path.strip_prefix(&root).unwrap().to_owned();
            let source = Source::of(path, text, &items);
            all.uses.push(Vec::new());
            all.add(source.module(), all.sources.len(), &items);
            all.sources.push(source);
        }
        assert!(all.sources.len() > 300, "the test no longer sees the code");
        all
    }

    fn add(&mut self, path: Vec<String>, file: usize, items: &[syn::Item]) {
        let mut module = Module {
            file,
            ..Module::default()
        };
        for item in items {
            if let Some(name) = name(item) {
                module.items.insert(name);
            }
            match item {
                syn::Item::Use(item) => {
                    let mut paths = Vec::new();
                    leaves(&item.tree, &mut Vec::new(), &mut paths);
                    // A re-export passes a name on: the file that uses the name depends on it.
                    let is_reexport = !matches!(item.vis, syn::Visibility::Inherited);
                    for (name, target) in paths {
                        if !is_reexport {
                            self.uses[file].push((path.clone(), target.clone()));
                        }
                        match name {
                            Some(name) => _ = module.imports.insert(name, target),
                            None => module.globs.push(target),
                        }
                    }
                }
                syn::Item::Mod(inner) => {
                    if let Some((_, items)) = &inner.content {
                        let mut path = path.clone();
                        path.push(inner.ident.to_string());
                        self.add(path, file, items);
                    }
                }
                item => {
                    let mut paths = Paths(Vec::new());
                    paths.visit_item(item);
                    let paths = paths.0.into_iter();
                    self.uses[file].extend(paths.map(|used| (path.clone(), used)));
                }
            }
        }
        self.modules.insert(path, module);
    }

    /// The module that a path leads to or whose item it names, with re-exports followed; `None` for
    /// what is not of this crate.
    fn resolve(&self, from: &[String], path: &[String], depth: usize) -> Option<&Module> {
        let mut at = from.to_vec();
        let mut rest = path;
        let mut is_anchored = false;
        while let Some((first, others)) = rest.split_first() {
            match first.as_str() {
                "crate" => at.clear(),
                "super" => _ = at.pop(),
                "self" => {}
                _ => break,
            }
            is_anchored = true;
            rest = others;
        }
        if !is_anchored {
            // A name in scope: a module below this one, an import, or a crate of others.
            let first = path.first()?;
            let here = self.modules.get(from)?;
            let mut below = from.to_vec();
            below.push(first.clone());
            if !self.modules.contains_key(&below) && !here.imports.contains_key(first) {
                return None;
            }
        }
        self.walk(at, rest, depth)
    }

    fn walk(&self, mut at: Vec<String>, rest: &[String], depth: usize) -> Option<&Module> {
        let module = self.modules.get(&at)?;
        let Some((name, others)) = rest.split_first() else {
            return Some(module);
        };
        at.push(name.clone());
        if self.modules.contains_key(&at) {
            return self.walk(at, others, depth);
        }
        at.pop();
        if module.items.contains(name) || depth == 8 {
            return Some(module);
        }
        if let Some(target) = module.imports.get(name) {
            let longer: Vec<String> = target.iter().chain(others).cloned().collect();
            return self.resolve(&at, &longer, depth + 1);
        }
        let found = module.globs.iter().find_map(|target| {
            let found = self.resolve(&at, target, depth + 1)?;
            (found.items.contains(name) || found.imports.contains_key(name)).then_some(found)
        });
        found.or(Some(module))
    }

    /// By file: the other files that it uses.
    fn edges(&self) -> Vec<BTreeSet<usize>> {
        let files = self.uses.iter().enumerate();
        files
            .map(|(file, uses)| {
                let used = uses.iter().filter_map(|(from, path)| {
                    let module = self.resolve(from, path, 0)?;
                    (module.file != file).then_some(module.file)
                });
                used.collect()
            })
            .collect()
    }
}

fn name(item: &syn::Item) -> Option<String> {
    let name = match item {
        syn::Item::Const(item) => &item.ident,
        syn::Item::Enum(item) => &item.ident,
        syn::Item::Fn(item) => &item.sig.ident,
        syn::Item::Macro(item) => item.ident.as_ref()?,
        syn::Item::Static(item) => &item.ident,
        syn::Item::Struct(item) => &item.ident,
        syn::Item::Trait(item) => &item.ident,
        syn::Item::Type(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

/// The paths that a tree of imports names, with the names by which they are known; a glob has none.
fn leaves(
    tree: &syn::UseTree,
    before: &mut Vec<String>,
    found: &mut Vec<(Option<String>, Vec<String>)>,
) {
    let path = |last: &syn::Ident, before: &[String]| {
        let mut path = before.to_vec();
        // `use a::{self}` names `a`.
        if last != "self" || path.is_empty() {
            path.push(last.to_string());
        }
        path
    };
    match tree {
        syn::UseTree::Path(tree) => {
            before.push(tree.ident.to_string());
            leaves(&tree.tree, before, found);
            before.pop();
        }
        syn::UseTree::Name(tree) => {
            let path = path(&tree.ident, before);
            found.push((path.last().cloned(), path));
        }
        syn::UseTree::Rename(tree) => {
            let path = path(&tree.ident, before);
            found.push((Some(tree.rename.to_string()), path));
        }
        syn::UseTree::Glob(_) => found.push((None, before.clone())),
        syn::UseTree::Group(group) => {
            for tree in &group.items {
                leaves(tree, before, found);
            }
        }
    }
}

/// Collects the paths of an item that have more than one segment.
struct Paths(Vec<Vec<String>>);

impl<'ast> Visit<'ast> for Paths {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            let names = path.segments.iter().map(|part| part.ident.to_string());
            self.0.push(names.collect());
        }
        visit::visit_path(self, path);
    }

    /// Skips `pub(in path)`, which uses nothing.
    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut paths = Vec::new();
        leaves(&item.tree, &mut Vec::new(), &mut paths);
        self.0.extend(paths.into_iter().map(|(_, path)| path));
    }
}

/// The sets of files that use each other, largest first (Tarjan's algorithm).
fn circles(edges: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
    struct Search<'a> {
        edges: &'a [BTreeSet<usize>],
        /// Number of discovery and the lowest one that can be reached.
        numbers: Vec<Option<(usize, usize)>>,
        stack: Vec<usize>,
        circles: Vec<Vec<usize>>,
        next: usize,
    }
    fn visit(search: &mut Search<'_>, file: usize) -> usize {
        let number = search.next;
        search.next += 1;
        search.numbers[file] = Some((number, number));
        search.stack.push(file);
        let edges = search.edges;
        let mut lowest = number;
        for &other in &edges[file] {
            match search.numbers[other] {
                None => lowest = lowest.min(visit(search, other)),
                Some((number, _)) if search.stack.contains(&other) => lowest = lowest.min(number),
                Some(_) => {}
            }
        }
        search.numbers[file] = Some((number, lowest));
        if lowest == number {
            let from = search.stack.iter().position(|at| *at == file).unwrap();
            let circle = search.stack.split_off(from);
            if circle.len() > 1 {
                search.circles.push(circle);
            }
        }
        lowest
    }
    let mut search = Search {
        edges,
        numbers: vec![None; edges.len()],
        stack: Vec::new(),
        circles: Vec::new(),
        next: 0,
    };
    for file in 0..edges.len() {
        if search.numbers[file].is_none() {
            visit(&mut search, file);
        }
    }
    search
        .circles
        .sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    search.circles
}

fn layer(module: &[String]) -> Option<usize> {
    let first = module.first()?;
    LAYERS.iter().position(|layer| layer == first)
}

#[test]
fn lower_layers_never_use_higher_ones() {
    let sources = &library().sources;
    let edges = library().edges();
    let mut seen = 0;
    for (source, used) in sources.iter().zip(&edges) {
        let Some(own) = layer(&source.module()) else {
            continue;
        };
        for other in used.iter().map(|file| &sources[*file]) {
            let module = other.module();
            let Some(used) = layer(&module) else {
                let is_tool = module
                    .first()
                    .is_some_and(|first| TOOLS.contains(&&**first));
                let (user, used) = (source.path.display(), other.path.display());
                assert!(is_tool, "{user} uses {used}, which is no layer");
                continue;
            };
            let is_sideways = (LAYERS[own], LAYERS[used]) == ("server", "client");
            assert!(
                used <= own && !is_sideways,
                "{} uses {} of a higher layer",
                source.path.display(),
                other.path.display()
            );
            seen += 1;
        }
    }
    assert!(seen > 500, "the test no longer sees the code: {seen}");
}

#[test]
fn circles_of_imports_only_become_fewer_and_smaller() {
    let sources = &library().sources;
    let circles = circles(&library().edges());
    let mut list = String::new();
    for circle in &circles {
        let mut files: Vec<String> = circle
            .iter()
            .map(|file| sources[*file].path.display().to_string())
            .collect();
        files.sort();
        list += &format!("\n{} files: {}", files.len(), files.join(" "));
    }
    let largest = circles.first().map_or(0, Vec::len);
    assert!(
        circles.len() <= CIRCLES && largest <= LARGEST_CIRCLE,
        "more than {CIRCLES} circles, or one of more than {LARGEST_CIRCLE} files:{list}"
    );
    assert!(
        circles.len() == CIRCLES && largest == LARGEST_CIRCLE,
        "there are fewer circles now: write {} and {largest} into this test{list}",
        circles.len()
    );
}

/// Collects the functions of a file with their lines of code.
struct Functions<'a> {
    lines: Vec<&'a str>,
    found: BTreeMap<String, usize>,
}

impl Functions<'_> {
    fn add(&mut self, name: &syn::Ident, block: &syn::Block) {
        let span = block.span();
        let (from, to) = (span.start().line, span.end().line);
        // The lines between the braces.
        let body = &self.lines[from.min(to - 1)..to - 1];
        let code = body.iter().filter(|line| {
            let line = line.trim();
            !line.is_empty() && !line.starts_with("//")
        });
        let lines = self.found.entry(name.to_string()).or_default();
        *lines = code.count().max(*lines);
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.add(&item.sig.ident, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !item.attrs.iter().any(is_test_only) {
            self.add(&item.sig.ident, &item.block);
        }
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.add(&item.sig.ident, block);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

#[test]
fn files_and_functions_are_short() {
    let mut long = BTreeMap::new();
    for source in &library().sources {
        let lines = source.text.lines().count();
        assert!(
            lines <= FILE_LINES,
            "{} has {lines} lines, more than {FILE_LINES}",
            source.path.display()
        );
        for (name, lines) in &source.functions {
            if *lines > FUNCTION_LINES {
                long.insert(format!("{}: {name}", source.path.display()), *lines);
            }
        }
    }
    let known: BTreeMap<String, usize> = LONG_FUNCTIONS
        .iter()
        .map(|(name, lines)| ((*name).to_owned(), *lines))
        .collect();
    assert_eq!(
        long, known,
        "functions of more than {FUNCTION_LINES} lines of code; the list of the known ones may \
         only shrink"
    );
}

/// Pure parts neither reach out nor look at the clock: time is an argument.
#[test]
fn pure_parts_do_no_input_and_output() {
    const PURE: [&str; 11] = [
        "jsonrpc/",
        "schema/",
        "protocol/response_sink.rs",
        "protocol/deadline.rs",
        "server/progress.rs",
        "server/paging.rs",
        "server/uri.rs",
        "client/cache/store.rs",
        "client/era.rs",
        "transport/http/client/challenge.rs",
        "auth/metadata.rs",
    ];
    const FORBIDDEN: [&str; 4] = ["net", "process", "thread", "fs"];
    let all = library();
    let mut seen = 0;
    for (source, uses) in all.sources.iter().zip(&all.uses) {
        let path = source.path.to_str().unwrap();
        if !PURE.iter().any(|pure| path.starts_with(pure)) {
            continue;
        }
        seen += 1;
        for (_, used) in uses {
            let names: Vec<&str> = used.iter().map(String::as_str).collect();
            let is_forbidden = match names.as_slice() {
                ["std", part, ..] if FORBIDDEN.contains(part) => true,
                [.., "Instant", "now"] => true,
                names => names.contains(&"SystemTime"),
            };
            assert!(!is_forbidden, "{path} uses {}", names.join("::"));
        }
    }
    assert!(seen > 50, "the test no longer sees the code: {seen}");
}

/// rustfmt does not wrap comments. A line without a space, such as a link, can't be wrapped.
#[test]
fn lines_of_comments_fit_into_100_columns() {
    let adapters = rust_files(&crate::root().join("adapters"));
    let adapters = adapters.into_iter().map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        (path, text)
    });
    let library = library().sources.iter();
    let library = library.map(|source| (source.path.clone(), source.text.clone()));
    for (path, text) in library.chain(adapters) {
        for (number, line) in text.lines().enumerate() {
            let comment = line.trim_start();
            let text = comment.trim_start_matches(['/', '!']).trim();
            assert!(
                !comment.starts_with("//") || line.chars().count() <= 100 || !text.contains(' '),
                "{}:{}: the line is longer than 100 columns",
                path.display(),
                number + 1
            );
        }
    }
}
