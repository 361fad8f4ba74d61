//! The program `spin-emulator`.

use std::process::ExitCode;

fn main() -> ExitCode {
    shared_context_spin_tests::cli::main()
}
