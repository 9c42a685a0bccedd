//! Leaves the symbols out of the installed program: it is a sixth of the size then. The library keeps
//! line tables in its release profile, for the traces of hosts, and Cargo has no profile for one
//! package.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|is| is == value);
    // Programs of other systems have no debug information in them.
    let is_elf = is("CARGO_CFG_TARGET_FAMILY", "unix") && !is("CARGO_CFG_TARGET_VENDOR", "apple");
    if is_elf && is("PROFILE", "release") {
        println!("cargo::rustc-link-arg-bins=-s");
    }
}
