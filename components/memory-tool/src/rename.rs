//! Moves a file, or a directory with everything in it, atomically.

use shared_context_core::{Key, Prefix};

use super::{
    ATTEMPTS_MAX, Memory, Rejection, Store, VIEW_FIRST, conflict, files,
    path::{self, Place},
    path_missing, reject, too_many,
};

impl<S: Store> Memory<'_, S> {
    /// Moves a file, or a directory with everything in it.
    pub(super) async fn rename(&self, old: Place, new: Place) -> Result<String, Rejection> {
        let (key, prefix) = match &old {
            Place::Root => return reject("Error: Cannot rename the /memories directory itself"),
            Place::Entry { key, directory } => (Some(key), directory.as_ref()),
            Place::Directory(prefix) => (None, Some(prefix)),
        };
        for _ in 0..ATTEMPTS_MAX {
            let is_file = match key {
                Some(key) => self.files.entry(key).await?.is_some(),
                None => false,
            };
            let moved = match (key, prefix) {
                (Some(key), _) if is_file => self.move_file(&old, key, &new).await?,
                (_, Some(prefix)) => self.move_directory(&old, prefix, &new).await?,
                _ => return reject(path_missing(&old.to_string(), VIEW_FIRST)),
            };
            if let Some(moved) = moved {
                return Ok(moved);
            }
        }
        reject(conflict(&old.to_string()))
    }

    /// Moves a file; `None` if it changed meanwhile.
    async fn move_file(
        &self,
        old: &Place,
        key: &Key,
        new: &Place,
    ) -> Result<Option<String>, Rejection> {
        let to = match new {
            Place::Entry { key, .. } => key,
            Place::Root => return reject(destination_exists(new)),
            Place::Directory(_) => {
                return reject(format!(
                    "Error: {new} is a directory; give the file a name in it, as in {new}progress"
                ));
            }
        };
        if to == key {
            return reject(destination_exists(new));
        }
        let moves = [(key.clone(), to.clone())];
        self.move_all(old, new, &moves).await
    }

    /// Moves a directory; `None` if it changed meanwhile.
    async fn move_directory(
        &self,
        old: &Place,
        prefix: &Prefix,
        new: &Place,
    ) -> Result<Option<String>, Rejection> {
        const KEYS_MAX: usize = files::BATCH_KEYS_MAX / 2;
        let keys = self.files.keys(Some(prefix)).await?;
        if keys.is_empty() {
            return reject(path_missing(&old.to_string(), VIEW_FIRST));
        }
        let from = Place::Directory(prefix.clone());
        let (to, file) = match new {
            Place::Root => return reject(destination_exists(new)),
            Place::Directory(to) => (to, None),
            Place::Entry { directory: Some(to), key } => (to, Some(key)),
            Place::Entry { directory: None, .. } => {
                return reject(format!(
                    "Error: {from} is a directory, {new} is not the name of one; use a name \
                     right below /memories, as in /memories/project"
                ));
            }
        };
        let destination = Place::Directory(to.clone());
        let is_file = match file {
            Some(key) => self.files.entry(key).await?.is_some(),
            None => false,
        };
        if is_file || !self.files.keys(Some(to)).await?.is_empty() {
            return reject(destination_exists(new));
        }
        if keys.len() > KEYS_MAX {
            return reject(too_many(&from, keys.len(), KEYS_MAX));
        }
        let moves = keys.into_iter().filter_map(|key| {
            let moved = path::in_directory(to, &key)?;
            Some((key, moved))
        });
        self.move_all(&from, &destination, &moves.collect::<Vec<_>>()).await
    }

    /// Moves each first key to the second, all or none; `None` if one of them changed meanwhile.
    /// They must fit one batch.
    async fn move_all(
        &self,
        old: &Place,
        new: &Place,
        moves: &[(Key, Key)],
    ) -> Result<Option<String>, Rejection> {
        let keys: Vec<Key> = moves.iter().flat_map(|(from, to)| [from, to]).cloned().collect();
        let entries = self.files.entries(&keys).await?;
        let find = |key: &Key| entries.iter().find(|it| it.key == key.as_str());
        let mut moved = Vec::new();
        for (from, to) in moves {
            if find(to).is_some() {
                return reject(destination_exists(new));
            }
            let Some(entry) = find(from) else { return Ok(None) };
            moved.push((entry, to));
        }
        match self.files.move_all(&moved).await {
            Ok(()) => Ok(Some(format!("Successfully renamed {old} to {new}"))),
            Err(failure) if moved.iter().any(|(entry, _)| entry.is_outdated(&failure)) => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }
}

fn destination_exists(path: &Place) -> String {
    format!(
        "Error: The destination {path} already exists. Choose another name, or delete it first."
    )
}
