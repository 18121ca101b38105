//! Puts a tree's files, and the manifest that lists them, into an archive.

use std::io::{Seek, Write};
use std::sync::Mutex;

use anyhow::Result;

use super::Effort;
use super::archive::{Archive, mode};
use super::compress::{Packed, Packer};
use super::ordered;
use crate::build::BuiltLibs;
use crate::libs::files::TreeFile;
use crate::libs::manifest::{self, FileRecord, Manifest};
use crate::progress::{Event, Report};

/// Bytes of files that may be under way at once: large enough that one huge archive does not idle the other cores.
const WINDOW: u64 = 64 << 20;

/// What goes into an archive.
pub(super) struct Fill<'a> {
    built: &'a BuiltLibs,
    /// Sorted by name, without the manifest.
    files: Vec<TreeFile>,
    effort: Effort,
    report: Report<'a>,
    /// Packers that no thread uses at the moment.
    idle: Mutex<Vec<Packer>>,
}

impl<'a> Fill<'a> {
    pub(super) fn new(
        built: &'a BuiltLibs,
        files: Vec<TreeFile>,
        effort: Effort,
        report: Report<'a>,
    ) -> Self {
        Self {
            built,
            files,
            effort,
            report,
            idle: Mutex::new(Vec::new()),
        }
    }

    /// Adds every file and, at its place in the order, the manifest, which is given back.
    ///
    /// The manifest needs every file's hash, so the compressed bytes of the files behind it wait in memory.
    pub(super) fn archive<W: Write + Seek>(
        &self,
        archive: &mut Archive<W>,
        pool: &rayon::ThreadPool,
    ) -> Result<Manifest> {
        let before = self
            .files
            .partition_point(|file| file.name.as_str() < manifest::FILE_NAME);
        let sizes: Vec<u64> = self.files.iter().map(|file| file.size).collect();
        let (mut done, total) = (0, sizes.iter().sum());
        let mut behind = Vec::new();
        let mut records = Vec::with_capacity(self.files.len());
        let compress =
            |index: usize| self.with_packer(|packer| packer.file(&self.files[index].disk));
        ordered::in_order(pool, &sizes, WINDOW, compress, |index, packed| {
            let name = &self.files[index].name;
            records.push(FileRecord {
                path: name.clone(),
                size: packed.size.into(),
                sha256: packed.sha256.clone(),
            });
            if index < before {
                self.add(archive, name, &packed)?;
            } else {
                behind.push(packed);
            }
            done += sizes[index];
            (self.report)(Event::Bytes { done, total });
            Ok(())
        })?;
        let manifest = self.manifest(records);
        let json = manifest.to_json()?;
        let packed = self.with_packer(|packer| packer.bytes(json.as_bytes()))?;
        self.add(archive, manifest::FILE_NAME, &packed)?;
        for (file, packed) in self.files[before..].iter().zip(&behind) {
            self.add(archive, &file.name, packed)?;
        }
        Ok(manifest)
    }

    fn add<W: Write + Seek>(
        &self,
        archive: &mut Archive<W>,
        name: &str,
        packed: &Packed,
    ) -> Result<()> {
        archive.add(format!("{}/{name}", self.built.core), mode(name), packed)
    }

    /// Runs `work` with a packer that no other thread uses, made where none is idle.
    fn with_packer(&self, work: impl FnOnce(&mut Packer) -> Result<Packed>) -> Result<Packed> {
        let idle = || {
            self.idle
                .lock()
                .unwrap_or_else(|poison| poison.into_inner())
        };
        let free = idle().pop();
        let mut packer = match free {
            Some(packer) => packer,
            None => Packer::new(self.effort)?,
        };
        let packed = work(&mut packer);
        idle().push(packer);
        packed
    }

    fn manifest(&self, files: Vec<FileRecord>) -> Manifest {
        let built = self.built.clone();
        Manifest {
            schema: manifest::SCHEMA,
            core: built.core,
            chip: built.chip,
            patch_set: built.patch_set,
            sources: built.sources,
            components: built.components,
            build: built.build,
            effective: built.effective,
            files,
        }
    }
}
