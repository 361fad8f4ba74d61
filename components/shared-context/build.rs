//! Compresses `describe.json` of the codec, the component's description of itself. It is rarely
//! requested, and takes a quarter of the space this way.

use std::{env, fs, io, path::Path};

const DESCRIPTION: &str = "../codec/describe.json";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={DESCRIPTION}");
    let packed = lz4_flex::compress_prepend_size(&fs::read(DESCRIPTION)?);
    let folder = env::var_os("OUT_DIR").unwrap_or_default();
    fs::write(Path::new(&folder).join("describe.json.lz4"), packed)
}
