//! Bindings of Spin's interfaces beside WASI, generated from their published definitions
//! (`hosts/spin/wit/deps`).

wasmtime::component::bindgen!({
    inline: "
        package emulator:host;

        world spin {
            import spin:sqlite/sqlite@3.0.0;
            import fermyon:spin/variables@2.0.0;
            import fermyon:spin/key-value@2.0.0;
        }
    ",
    path: [
        "../../hosts/spin/wit/deps/spin-sqlite@3.0.0",
        "../../hosts/spin/wit/deps/fermyon-spin@2.0.0",
    ],
    world: "emulator:host/spin",
    imports: { default: async | trappable },
    require_store_data_send: true,
    with: {
        "spin:sqlite/sqlite.connection": crate::host::sqlite::Connection,
        "fermyon:spin/key-value.store": crate::host::key_value::Store,
    },
});
