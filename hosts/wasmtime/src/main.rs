//! The program `shared-context`: a server to start, and commands that talk to it.
//!
//! Everything is in `cli`; what the server itself does is in the library.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
