//! Says what is compiled in besides the sources: cargo does not see files that appear in a folder.

fn main() {
    println!("cargo::rerun-if-changed=sample-upstream");
}
