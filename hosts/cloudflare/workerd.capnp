# Runs the Worker on your own machine under workerd, with the data on its disk:
#
#   cargo xtask build && cd hosts/cloudflare && npm ci && mkdir -p ~/shared-context
#   export SHARED_CONTEXT_SECRET=… SHARED_CONTEXT_ADMIN_KEY=…    # 32 characters or more, each
#   npx workerd serve workerd.capnp -d data=$HOME/shared-context
#
# To try it, `cargo xtask serve-worker` does all that, including the secrets. Run only one
# workerd per folder: a second one is not prevented, and each would serve stale data after the
# other wrote.
#
# To listen on another address: -s http=0.0.0.0:8787. Traffic is then unencrypted: put a TLS
# proxy in front and set SHARED_CONTEXT_PUBLIC_URL to its address.

using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "shared-context", worker = .worker),
    # No path: the folder is given on the command line.
    (name = "data", disk = (writable = true)),
    # The Worker makes no outgoing requests.
    (name = "internet", network = (allow = [])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:8787", http = (), service = "shared-context")],
);

const worker :Workerd.Worker = (
  modules = [
    (name = "worker.mjs", esModule = embed "build/worker.mjs"),
    (name = "shared_context.wasm", wasm = embed "build/shared_context.wasm"),
  ],
  compatibilityDate = "2026-11-01",
  # The unique keys are those that workerd derives from wrangler.jsonc. With other keys, no
  # existing data would be found.
  durableObjectNamespaces = [
    (className = "Bucket", uniqueKey = "shared-context-Bucket", enableSql = true),
    (className = "Directory", uniqueKey = "shared-context-Directory", enableSql = true),
  ],
  durableObjectStorage = (localDisk = "data"),
  bindings = [
    (name = "BUCKET", durableObjectNamespace = "Bucket"),
    (name = "DIRECTORY", durableObjectNamespace = "Directory"),
    (name = "SHARED_CONTEXT_SECRET", fromEnvironment = "SHARED_CONTEXT_SECRET"),
    (name = "SHARED_CONTEXT_ADMIN_KEY", fromEnvironment = "SHARED_CONTEXT_ADMIN_KEY"),
    # Rejects browser requests to a host name other than this machine's or that of
    # SHARED_CONTEXT_PUBLIC_URL.
    (name = "SHARED_CONTEXT_LOCAL", text = "yes"),
    # An unset variable is null.
    (name = "SHARED_CONTEXT_RATE", fromEnvironment = "SHARED_CONTEXT_RATE"),
    (name = "SHARED_CONTEXT_PUBLIC_URL", fromEnvironment = "SHARED_CONTEXT_PUBLIC_URL"),
    (name = "SHARED_CONTEXT_CORS_ORIGINS", fromEnvironment = "SHARED_CONTEXT_CORS_ORIGINS"),
  ],
);
