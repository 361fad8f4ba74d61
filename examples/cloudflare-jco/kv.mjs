// The component's storage, `wit/kv.wit`, over the SQLite of a Durable Object. The object
// holds one bucket: a session.
//
// Its four guarantees rest on this:
//
// - Snapshot, linear: an object does one thing at a time, and nothing here waits, so
//   nobody writes while the component works.
// - Atomic: `transactionSync` takes back everything when something in it throws.
// - Durable: the platform holds an answer back until what was written before is stored.

const TABLES = `
  CREATE TABLE bucket (revision INTEGER NOT NULL);
  INSERT INTO bucket VALUES (0);
  CREATE TABLE row (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
`;
const ARE_THERE = "SELECT 1 FROM sqlite_master WHERE name = 'bucket'";

/** What `wit/kv.wit` calls an error; jco hands on the `payload` of what is thrown. */
class KvError extends Error {
  constructor(payload, cause) {
    super("storage failed", { cause });
    this.payload = payload;
  }
}

/** An error as a `variant` of `wit/kv.wit` holds it. */
const failed = (val) => ({ tag: "failed", val });

/** Does `work`; `told` makes of an exception what the component is told. */
function attempt(work, told = (why) => why) {
  try {
    return work();
  } catch (error) {
    if (error instanceof KvError) throw error;
    console.error(error.stack ?? String(error));
    throw new KvError(told(String(error)), error);
  }
}

/** The interface `kv` over the `storage` of a Durable Object. */
export function kv(storage) {
  const query = (text, ...values) => storage.sql.exec(text, ...values).raw().toArray();

  // Only a commit makes the tables: to ask for a session that is not there leaves nothing.
  let areThere = false;
  const isWritten = () => (areThere ||= query(ARE_THERE).length > 0);
  const stored = () => (isWritten() ? query("SELECT revision FROM bucket")[0][0] : 0);

  class Bucket {
    #revision = stored();

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
        if (BigInt(stored()) !== expected) throw new KvError({ tag: "conflict" });
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
        // The tables may have been taken back, too.
        areThere = false;
        throw error;
      }
    }
  }

  return { Bucket, open: () => attempt(() => new Bucket()) };
}

/** What begins with `prefix` sorts from the first of these up to the second. */
function range(prefix) {
  return [prefix, `${prefix}\u{10ffff}`];
}
