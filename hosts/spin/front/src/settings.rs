//! Reads the operator's settings from the component's variables `secret`, `admin_key` and
//! `public_url`.

use shared_context_codec::Failure;
use shared_context_wire::{
    credential::{Keys, SECRET_BYTES_MIN},
    http::{Consistency, CorsOrigins, Options, parse_public_url},
};

use crate::{
    bindings::{
        fermyon::spin::variables,
        shared_context::spin::buckets::{self, Guarantee},
        wasi::random::random,
    },
    log,
};

/// The prefix of the variables' names in the environment of `spin up`.
const VARIABLES: &str = "SPIN_VARIABLE_SHARED_CONTEXT_";

/// The error of an app that is not set up, and options for an interface that reports it. The keys
/// of that interface are given to nobody.
pub(crate) struct SetupError {
    pub(crate) options: Options,
    pub(crate) failure: Failure,
}

/// Reads the variables, and logs an error if one is missing or invalid.
pub(crate) fn read() -> Result<Options, Box<SetupError>> {
    options().map_err(|why| {
        log::not_set_up(&why);
        let mut random = [0; SECRET_BYTES_MIN];
        random.iter_mut().zip(random::get_random_bytes(32)).for_each(|(to, from)| *to = from);
        let mut options = Options::new(Keys::of_nobody(&random));
        options.is_kept = false;
        let failure = Failure::new("INTERNAL", why);
        Box::new(SetupError { options, failure })
    })
}

fn options() -> Result<Options, String> {
    let secret = required("secret")?;
    let admin_key = required("admin_key")?;
    let keys = Keys::new(secret.as_bytes(), &admin_key).map_err(|it| {
        format!("the app is not set up: {it}; see {VARIABLES}SECRET and {VARIABLES}ADMIN_KEY")
    })?;
    let mut options = Options::new(keys);
    let public_url = variables::get("public_url").unwrap_or_default();
    if !public_url.is_empty() {
        let url = parse_public_url(&public_url);
        options.public_url = Some(url.map_err(|why| format!("{VARIABLES}PUBLIC_URL: {why}"))?);
    }
    let origins = CorsOrigins::parse(&variables::get("cors_origins").unwrap_or_default());
    options.cors_origins = origins.map_err(|why| format!("{VARIABLES}CORS_ORIGINS: {why}"))?;
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
        let name = name.to_uppercase();
        return Err(format!(
            "the app is not set up: set {VARIABLES}{name} to 32 random bytes or more, in the environment \
             of `spin up` or in the file .env of the folder it is started in, and start it again"
        ));
    }
    Ok(value)
}
