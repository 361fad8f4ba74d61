// Implements the component's storage, `wit/kv.wit`, over the SQLite of a Durable Object.
// The object has one bucket: a session.
//
// The four guarantees hold because:
//
// - Snapshot, linear: an object does one thing at a time, and nothing here waits, so no
//   other write happens while the component works.
// - Atomic: `transactionSync` rolls back all changes if something in it throws.
// - Durable: the platform holds an answer back until the writes before it are stored.

const TABLES = `
  CREATE TABLE bucket (revision INTEGER NOT NULL);
  INSERT INTO bucket VALUES (0);
  CREATE TABLE row (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
`;
const TABLES_EXIST = "SELECT 1 FROM sqlite_master WHERE name = 'bucket'";

/** An error of `wit/kv.wit`; jco passes the `payload` to the component. */
class KvError extends Error {
  constructor(payload, cause) {
    super("storage failed", { cause });
    this.payload = payload;
  }
}

/** Wraps a message in the variant `failed` of an error in `wit/kv.wit`. */
const failed = (val) => ({ tag: "failed", val });

/** Runs `work`; `payload` converts the message of an exception for the component. */
function attempt(work, payload = (message) => message) {
  try {
    return work();
  } catch (error) {
    if (error instanceof KvError) throw error;
    console.error(error.stack ?? String(error));
    throw new KvError(payload(String(error)), error);
  }
}

/** Returns the interface `kv` over the `storage` of a Durable Object. */
export function kv(storage) {
  const query = (text, ...values) => storage.sql.exec(text, ...values).raw().toArray();

  // Only a commit creates the tables, so reading a session that does not exist stores nothing.
  let tablesExist = false;
  const isWritten = () => (tablesExist ||= query(TABLES_EXIST).length > 0);
  const storedRevision = () => (isWritten() ? query("SELECT revision FROM bucket")[0][0] : 0);

  class Bucket {
    #revision = storedRevision();

    revision() {
      return BigInt(this.#revision);
    }

    get(name) {
      return attempt(() => {
        if (!isWritten()) return undefined;
        const [row] = query("SELECT value FROM row WHERE name = ?", name);
        return row && new Uint8Array(row[0]);
      }, failed);
    }

    scan(prefix, after, limit) {
      return attempt(() => {
        if (!isWritten()) return [];
        const [from, to] = range(prefix);
        const rows = query(
          "SELECT name, value FROM row WHERE name >= ? AND name < ? AND name > ? ORDER BY name LIMIT ?",
          from, to, after ?? "", limit,
        );
        return rows.map(([name, value]) => [name, new Uint8Array(value)]);
      }, failed);
    }

    commit(expected, changes) {
      const commit = () => {
        if (!isWritten()) storage.sql.exec(TABLES);
        if (BigInt(storedRevision()) !== expected) throw new KvError({ tag: "conflict" });
        for (const { tag, val } of changes) {
          if (tag === "put") query("INSERT OR REPLACE INTO row VALUES (?, ?)", ...val);
          if (tag === "delete") query("DELETE FROM row WHERE name = ?", val);
          if (tag === "delete-prefix") {
            query("DELETE FROM row WHERE name >= ? AND name < ?", ...range(val));
          }
        }
        query("UPDATE bucket SET revision = revision + 1");
        return expected + 1n;
      };
      try {
        return attempt(() => storage.transactionSync(commit), failed);
      } catch (error) {
        // The creation of the tables may have been rolled back, too.
        tablesExist = false;
        throw error;
      }
    }
  }

  return { Bucket, open: () => attempt(() => new Bucket()) };
}

/** Returns the bounds of the names that begin with `prefix`. */
function range(prefix) {
  return [prefix, `${prefix}\u{10ffff}`];
}
