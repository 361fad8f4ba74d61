//! The program `shared-context`: a server, and commands that call it.
//!
//! The code of the commands is in `cli`; the server itself is in the library.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
