//! What an operator sets, as variables of the app: `secret`, `admin_key` and
//! `public_url` of the component.

use shared_context_codec::Failure;
use shared_context_wire::{
    credential::{Keys, SECRET_BYTES_MIN},
    http::{Consistency, Options, parse_public_url},
};

use crate::bindings::{
    fermyon::spin::variables,
    shared_context::spin::buckets::{self, Guarantee},
    wasi::random::random,
};

/// Why nothing can be served, and an interface that nobody has a key of to say it.
pub(crate) struct Refusal {
    pub(crate) options: Options,
    pub(crate) failure: Failure,
}

/// Reads the variables.
pub(crate) fn read() -> Result<Options, Box<Refusal>> {
    options().map_err(|why| {
        let mut random = [0; SECRET_BYTES_MIN];
        random.iter_mut().zip(random::get_random_bytes(32)).for_each(|(to, from)| *to = from);
        let mut options = Options::new(Keys::of_nobody(&random));
        options.is_kept = false;
        let failure = Failure::new("INTERNAL", why);
        Box::new(Refusal { options, failure })
    })
}

fn options() -> Result<Options, String> {
    let secret = required("secret")?;
    let admin_key = required("admin_key")?;
    let keys = Keys::new(secret.as_bytes(), &admin_key);
    let mut options = Options::new(keys.map_err(|it| it.to_string())?);
    let public_url = variables::get("public_url").unwrap_or_default();
    if !public_url.is_empty() {
        let url = parse_public_url(&public_url);
        options.public_url = Some(url.map_err(|why| format!("public_url: {why}"))?);
    }
    options.is_kept = false;
    options.request_id_seed = random::get_random_u64();
    options.consistency = match buckets::promises() {
        Guarantee::Linearizable => Consistency::Linearizable,
        Guarantee::LastWriteWins => Consistency::LastWriteWins,
    };
    Ok(options)
}

fn required(name: &str) -> Result<String, String> {
    let Ok(value) = variables::get(name) else {
        return Err(format!(
            "the app is not set up: the component has no variable {name}; in spin.toml write \
             {name} = \"{{{{ shared_context_{name} }}}}\" under [component.….variables]"
        ));
    };
    if value.is_empty() {
        let variable = format!("SPIN_VARIABLE_SHARED_CONTEXT_{}", name.to_uppercase());
        return Err(format!(
            "the app is not set up: set {variable} to 32 random bytes or more, in the environment \
             of `spin up` or in the file .env of the folder it is started in, and start it again"
        ));
    }
    Ok(value)
}
