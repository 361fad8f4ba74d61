//! Small components for the tests of this crate, built from a few instructions.

use std::path::Path;

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{Resolve, UnresolvedPackageGroup};

/// The behaviour of the module in a component.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Code<'a> {
    /// Exports a function with this name that returns this small number.
    Answer(&'a str, u8),
    /// Does the same, and imports the function that drops a database connection.
    AnswerOverDatabase(&'a str, u8),
    /// Exports the HTTP handler, which traps.
    Trap,
    /// Exports the handler, which returns without a response.
    Leave,
    /// Exports the handler, which calls the function of this interface and name. It returns
    /// if the function returns this number, and traps otherwise.
    Ask(&'a str, &'a str, u8),
}

/// The interfaces that Spin's components may import, in the order of their dependencies.
const PUBLISHED: [&str; 9] = [
    "wasi-io@0.2.0",
    "wasi-clocks@0.2.0",
    "wasi-random@0.2.0",
    "wasi-filesystem@0.2.0",
    "wasi-sockets@0.2.0",
    "wasi-cli@0.2.0",
    "wasi-http@0.2.0",
    "spin-sqlite@3.0.0",
    "fermyon-spin@2.0.0",
];

/// The name of the handler's interface in a module and in WIT.
const HANDLER: &str = "wasi:http/incoming-handler@0.2.0";

/// Builds a component of the world `it` of the package `wit`.
pub(crate) fn component(wit: &str, code: Code<'_>) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hosts/spin/wit/deps");
    for name in PUBLISHED {
        let group = UnresolvedPackageGroup::parse_dir(published.join(name)).unwrap();
        resolve.push_group(group).unwrap();
    }
    let package = resolve.push_source("test.wit", wit).unwrap();
    let world = resolve.select_world(&[package], Some("it")).unwrap();
    let mut module = module(code);
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8, false).unwrap();
    ComponentEncoder::default().module(&module).unwrap().validate(true).encode().unwrap()
}

/// Builds the module. Its types are `() -> i32`, `(i32, i32) -> ()` and `(i32) -> ()`.
fn module(code: Code<'_>) -> Vec<u8> {
    const UNREACHABLE: u8 = 0x00;
    const END: u8 = 0x0b;
    let handler = format!("{HANDLER}#handle");
    let (import, name, of_type, body) = match code {
        Code::Answer(name, number) => (None, name, 0, vec![0x41, number, END]),
        Code::AnswerOverDatabase(name, number) => (
            Some(("spin:sqlite/sqlite@3.0.0", "[resource-drop]connection", 2)),
            name,
            0,
            vec![0x41, number, END],
        ),
        Code::Trap => (None, handler.as_str(), 1, vec![UNREACHABLE, END]),
        Code::Leave => (None, handler.as_str(), 1, vec![END]),
        // call 0; i32.const; i32.ne; if; unreachable; end; end
        Code::Ask(interface, function, number) => (
            Some((interface, function, 0)),
            handler.as_str(),
            1,
            vec![0x10, 0, 0x41, number, 0x47, 0x04, 0x40, UNREACHABLE, END, END],
        ),
    };
    let mut module = b"\0asm\x01\0\0\0".to_vec();
    section(&mut module, 1, &[3, 0x60, 0, 1, 0x7f, 0x60, 2, 0x7f, 0x7f, 0, 0x60, 1, 0x7f, 0]);
    if let Some((interface, function, of_type)) = import {
        let mut content = vec![1];
        text(&mut content, interface);
        text(&mut content, function);
        content.extend([0, of_type]);
        section(&mut module, 2, &content);
    }
    section(&mut module, 3, &[1, of_type]);
    let mut content = vec![1];
    text(&mut content, name);
    content.extend([0, u8::from(import.is_some())]);
    section(&mut module, 7, &content);
    let mut content = vec![1];
    // No locals.
    content.push(u8::try_from(body.len() + 1).unwrap());
    content.push(0);
    content.extend(body);
    section(&mut module, 10, &content);
    module
}

fn section(module: &mut Vec<u8>, number: u8, content: &[u8]) {
    module.push(number);
    // The size in LEB128: seven bits in each byte.
    let mut size = content.len();
    while size >= 0x80 {
        module.push(u8::try_from(size & 0x7f).unwrap() | 0x80);
        size >>= 7;
    }
    module.push(u8::try_from(size).unwrap());
    module.extend(content);
}

fn text(content: &mut Vec<u8>, text: &str) {
    content.push(u8::try_from(text.len()).unwrap());
    content.extend(text.bytes());
}
