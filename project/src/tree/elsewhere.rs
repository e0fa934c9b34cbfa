//! Resolves and compares paths, on systems without descriptors of folders.

use super::*;

impl Tree {
    fn real(&self, path: &Path) -> Result<PathBuf> {
        let real = std::fs::canonicalize(self.root.join(self.relative(path)?))?;
        let inside = real.strip_prefix(&self.root).map_err(|_| refused(LINK_LEADS_OUT))?;
        match !self.is_open && inside.iter().any(is_git) {
            true => Err(refused(IN_GIT)),
            false => Ok(real),
        }
    }

    pub(super) fn open_any(&self, path: &Path) -> Result<File> {
        File::open(self.real(path)?)
    }

    pub(super) fn look_at(&self, path: &Path) -> Result<Metadata> {
        std::fs::metadata(self.real(path)?)
    }

    pub(super) fn entries(&self, path: &Path) -> Result<Vec<Listed>> {
        let mut listed = Vec::new();
        for entry in std::fs::read_dir(self.real(path)?)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            let is_link = kind.is_symlink();
            let kind = (!is_link).then(|| kind_of(kind));
            listed.push(Listed { name: entry.file_name(), kind, is_link });
        }
        Ok(listed)
    }
}
