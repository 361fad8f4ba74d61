//! Reads the stored rows directly: they show more than any request does.

use std::{collections::BTreeSet, path::Path};

use rusqlite::{Connection, OpenFlags};

/// A row: the name of its table, and its values.
pub(crate) type Row = (String, Vec<String>);

/// Returns all rows of our tables in the databases in `folder`. An empty table counts as
/// missing, so creating the tables is not a change.
pub(crate) fn rows(folder: &Path) -> BTreeSet<Row> {
    let files = ["sqlite_db.db", "sqlite_key_value.db"].map(|it| folder.join(it));
    files.iter().filter(|it| it.exists()).flat_map(|it| of_file(it)).collect()
}

fn of_file(file: &Path) -> Vec<Row> {
    let database = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap();
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' \
                  AND (name LIKE 'shared_context_%' OR name = 'spin_key_value')";
    let mut tables = database.prepare(tables).unwrap();
    let tables: Vec<String> =
        tables.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    tables.iter().flat_map(|table| of_table(&database, table)).collect()
}

fn of_table(database: &Connection, table: &str) -> Vec<Row> {
    let mut all = database.prepare(&format!("SELECT * FROM {table}")).unwrap();
    let columns = all.column_count();
    let row = |row: &rusqlite::Row<'_>| {
        let cells = (0..columns).map(|it| row.get_ref(it).map(|it| format!("{it:?}")));
        Ok((table.to_owned(), cells.collect::<Result<_, _>>()?))
    };
    all.query_map([], row).unwrap().collect::<Result<_, _>>().unwrap()
}
