//! Tests do not know how fast the machine is: none fails because something was late. What has to
//! happen at once is held against a witness, see `tests/suite/common/witness.rs`.

use std::collections::BTreeSet;
use std::fs;

use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, Token};

use crate::layout::rust_files;
use crate::root;

/// The methods that tell how much time has passed.
const PASSED: [&str; 3] = ["elapsed", "duration_since", "saturating_duration_since"];

/// Whether an expression mentions how much time has passed.
struct Mentions<'a> {
    /// The variables that hold it.
    names: &'a BTreeSet<String>,
    found: bool,
}

impl<'a> Mentions<'a> {
    fn any(names: &'a BTreeSet<String>, expression: &Expr) -> bool {
        let mut mentions = Self {
            names,
            found: false,
        };
        mentions.visit_expr(expression);
        mentions.found
    }
}

impl Visit<'_> for Mentions<'_> {
    fn visit_ident(&mut self, name: &syn::Ident) {
        let name = name.to_string();
        self.found |= self.names.contains(&name) || PASSED.contains(&&*name);
    }
}

/// The upper bounds on time in a condition.
struct UpperBounds<'a> {
    names: &'a BTreeSet<String>,
    lines: Vec<usize>,
}

impl UpperBounds<'_> {
    fn bound(&mut self, expression: &Expr) {
        if Mentions::any(self.names, expression) {
            self.lines.push(expression.span().start().line);
        }
    }
}

impl Visit<'_> for UpperBounds<'_> {
    fn visit_expr_binary(&mut self, comparison: &syn::ExprBinary) {
        match comparison.op {
            BinOp::Lt(_) | BinOp::Le(_) => self.bound(&comparison.left),
            BinOp::Gt(_) | BinOp::Ge(_) => self.bound(&comparison.right),
            _ => visit::visit_expr_binary(self, comparison),
        }
    }

    fn visit_expr_method_call(&mut self, call: &syn::ExprMethodCall) {
        if call.method == "contains" {
            call.args.iter().for_each(|argument| self.bound(argument));
        }
        visit::visit_expr_method_call(self, call);
    }
}

/// Where a file asserts that no more than some time has passed.
#[derive(Default)]
struct Asserted {
    names: BTreeSet<String>,
    lines: Vec<usize>,
}

impl Visit<'_> for Asserted {
    fn visit_item_fn(&mut self, function: &syn::ItemFn) {
        self.names.clear();
        visit::visit_item_fn(self, function);
    }

    fn visit_local(&mut self, local: &syn::Local) {
        visit::visit_local(self, local);
        if let (Some(value), syn::Pat::Ident(pattern)) = (&local.init, &local.pat)
            && Mentions::any(&self.names, &value.expr)
        {
            self.names.insert(pattern.ident.to_string());
        }
    }

    // `receiver.recv_timeout(Duration::from_millis(5)).unwrap()` is such an assertion too.
    fn visit_expr_method_call(&mut self, call: &syn::ExprMethodCall) {
        if let Expr::MethodCall(wait) = &*call.receiver
            && ["expect", "unwrap"].iter().any(|name| call.method == name)
            && wait.method == "recv_timeout"
            && let Some(Expr::Call(_)) = wait.args.first()
        {
            self.lines.push(wait.method.span().start().line);
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, called: &syn::Macro) {
        let arguments = Punctuated::<Expr, Token![,]>::parse_terminated;
        if called.path.is_ident("assert")
            && let Ok(arguments) = called.parse_body_with(arguments)
        {
            let mut bounds = UpperBounds {
                names: &self.names,
                lines: Vec::new(),
            };
            bounds.visit_expr(&arguments[0]);
            self.lines.append(&mut bounds.lines);
        }
    }
}

/// The lines of a source text that have such bounds.
fn bounds(text: &str) -> Vec<usize> {
    let mut asserted = Asserted::default();
    asserted.visit_file(&syn::parse_file(text).unwrap());
    asserted.lines
}

#[test]
fn no_test_fails_because_something_was_late() {
    let mut found = Vec::new();
    for folder in ["src", "adapters", "tests", "testing", "cli", "examples"] {
        for path in rust_files(&root().join(folder)) {
            let text = fs::read_to_string(&path).unwrap();
            let name = path.strip_prefix(root()).unwrap().display();
            let lines = bounds(&text);
            found.extend(lines.iter().map(|line| format!("{name}:{line}")));
        }
    }
    assert!(
        found.is_empty(),
        "these assert that little time has passed: {found:#?}"
    );
}

#[test]
fn upper_bounds_are_told_from_lower_ones() {
    let of = |condition: &str| {
        let text = format!(
            "fn test() {{ let took = start.elapsed(); let (near, far) = (1, 2);\n assert!({condition}); }}"
        );
        bounds(&text)
    };
    for upper in [
        "took < LATE",
        "took <= LATE, \"{took:?}\"",
        "LATE > took",
        "near && start.elapsed() < LATE",
        "(SOON..LATE).contains(&took)",
        "now.duration_since(start) < LATE",
    ] {
        assert_eq!(of(upper), [2], "{upper}");
    }
    let waits = |wait: &str| bounds(&format!("fn test() {{ {wait}; }}")).len();
    assert_eq!(waits("told.recv_timeout(ms(500)).unwrap()"), 1);
    assert_eq!(waits("told.recv_timeout(secs(5)).expect(place).len()"), 1);
    assert_eq!(waits("told.recv_timeout(LONG).unwrap()"), 0);
    assert_eq!(waits("assert!(told.recv_timeout(ms(500)).is_err())"), 0);
    for other in [
        "took >= SOON",
        "SOON < took",
        "near < far",
        "took.is_zero()",
    ] {
        assert!(of(other).is_empty(), "{other}");
    }
}
