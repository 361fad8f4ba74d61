//! Builds malicious components from a text module.

use std::path::Path;

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{
    Function, Resolve, WorldItem, WorldKey,
    abi::{AbiVariant, WasmSignature, WasmType},
};

/// The default module.
pub(crate) const TEXT: &str = include_str!("guest.wat");

/// Builds the component of a module's text. Functions of the contract that it does not
/// export are added as stubs that trap.
pub(crate) fn component(text: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
    let (package, _) = resolve.push_dir(wit).unwrap();
    let world = resolve.select_world(&[package], None).unwrap();
    let body = text.trim_end().strip_suffix(')').unwrap();
    let module = format!("{body}{})", stubs(&resolve, world, text));
    let mut module = wat::parse_str(module).unwrap();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8, false).unwrap();
    ComponentEncoder::default().module(&module).unwrap().validate(true).encode().unwrap()
}

fn stubs(resolve: &Resolve, world: wit_parser::WorldId, text: &str) -> String {
    let mut stubs = String::new();
    for (key, export) in &resolve.worlds[world].exports {
        let (WorldKey::Interface(id), WorldItem::Interface { .. }) = (key, export) else {
            panic!("the contract exports more than interfaces");
        };
        let interface = resolve.id_of(*id).unwrap();
        for function in resolve.interfaces[*id].functions.values() {
            let name = format!("{interface}#{}", function.name);
            if !text.contains(&format!("\"{name}\"")) {
                stubs.push_str(&stub(resolve, &name, function));
            }
        }
    }
    stubs
}

fn stub(resolve: &Resolve, name: &str, function: &Function) -> String {
    let WasmSignature { params, results, .. } =
        resolve.wasm_signature(AbiVariant::GuestExport, function);
    let wasm_types =
        |types: &[WasmType]| types.iter().map(|it| wasm_type(*it)).collect::<Vec<_>>().join(" ");
    let (params, results) = (wasm_types(&params), wasm_types(&results));
    format!("(func (export \"{name}\") (param {params}) (result {results}) unreachable)\n")
}

fn wasm_type(it: WasmType) -> &'static str {
    match it {
        WasmType::I64 | WasmType::PointerOrI64 => "i64",
        WasmType::F32 => "f32",
        WasmType::F64 => "f64",
        WasmType::I32 | WasmType::Pointer | WasmType::Length => "i32",
    }
}
