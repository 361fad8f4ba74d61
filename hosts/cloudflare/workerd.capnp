# The Worker on a machine of your own, under workerd, with the data on its disk:
#
#   cargo xtask build && cd hosts/cloudflare && npm ci && mkdir -p ~/shared-context
#   export SHARED_CONTEXT_SECRET=… SHARED_CONTEXT_ADMIN_KEY=…    # 32 characters or more, each
#   npx workerd serve workerd.capnp -d data=$HOME/shared-context
#
# `cargo xtask serve-worker` does all that, secrets included, to try it. One workerd to a
# folder: nothing prevents a second one, and each would answer from what it read before the
# other wrote.
#
# To listen elsewhere: -s http=0.0.0.0:8787. Nothing is encrypted then: put a proxy with TLS in
# front and name its address in SHARED_CONTEXT_PUBLIC_URL.

using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "shared-context", worker = .worker),
    # No path: which folder is said when it is started.
    (name = "data", disk = (writable = true)),
    # The Worker calls nobody.
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
  # The keys are those that workerd makes of wrangler.jsonc; with others, all data would be
  # out of reach.
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
    # Refuses browsers that were led here under another name than this machine's, or that of
    # SHARED_CONTEXT_PUBLIC_URL.
    (name = "SHARED_CONTEXT_LOCAL", text = "yes"),
    # One that is not set is null.
    (name = "SHARED_CONTEXT_RATE", fromEnvironment = "SHARED_CONTEXT_RATE"),
    (name = "SHARED_CONTEXT_PUBLIC_URL", fromEnvironment = "SHARED_CONTEXT_PUBLIC_URL"),
  ],
);
