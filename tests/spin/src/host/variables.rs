//! `fermyon:spin/variables`: the component's variables from the manifest.

use crate::{
    bindings::fermyon::spin::variables::{Error, Host},
    variables::VariableError,
};

impl Host for super::Host {
    async fn get(&mut self, name: String) -> wasmtime::Result<Result<String, Error>> {
        let component = &self.component;
        Ok(component.texts.get(&component.name, &name).map_err(|it| match it {
            VariableError::InvalidName(why) => Error::InvalidName(why),
            VariableError::Undefined(why) => Error::Undefined(why),
        }))
    }
}
