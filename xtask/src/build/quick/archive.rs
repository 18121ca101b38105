//! Replaces members of an `ar` archive in a copy, and keeps every other byte.
//!
//! `object` reads the archive; the copy is put together here and not by `ar_archive_writer`. That crate follows LLVM: it
//! stores equal long names once and leaves an empty symbol index out, so its archive of the same members is not the one
//! that upstream's GNU `ar` makes (libesp_system.a holds two members called `debug_stubs.c.obj`). Here member headers,
//! name table and order are the stock archive's own; only replaced members and the symbol index are new.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use object::read::archive::{ArchiveFile, ArchiveKind};
use object::{Object, ObjectSymbol};

const MAGIC: &[u8] = b"!<arch>\n";
const HEADER: usize = 60;
/// Where a member header holds the size, in decimal, padded with blanks.
const SIZE_FIELD: std::ops::Range<usize> = 48..58;

/// A GNU archive with a symbol index, read.
#[derive(Debug)]
pub struct Archive<'a> {
    index_header: &'a [u8],
    /// The table of long names with its header, as it stands; empty where no name is long.
    names: &'a [u8],
    members: Vec<Member<'a>>,
}

/// One member.
#[derive(Debug, Clone)]
pub struct Member<'a> {
    /// Its name, for example `esp_psram.c.obj`.
    pub name: &'a [u8],
    /// Its content.
    pub data: &'a [u8],
    header: &'a [u8],
    /// The names that the symbol index gives for it, in order.
    symbols: Vec<&'a [u8]>,
}

impl<'a> Archive<'a> {
    /// Reads an archive.
    ///
    /// # Errors
    /// Not a GNU archive, a thin one, one without a 32-bit symbol index, one that is cut short.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        let file = ArchiveFile::parse(bytes).context("not an `ar` archive")?;
        if file.is_thin() {
            bail!("a thin archive, which holds no member's content");
        }
        if file.kind() != ArchiveKind::Gnu || !bytes[MAGIC.len()..].starts_with(b"/ ") {
            bail!("not a GNU archive with a symbol index, which is what upstream's `ar` makes");
        }
        let mut places = BTreeMap::new();
        let mut members: Vec<Member<'a>> = Vec::new();
        for member in file.members() {
            let member = member.context("reading the members of the archive")?;
            let start = usize::try_from(member.file_range().0)?;
            let header = slice(bytes, start.wrapping_sub(HEADER), HEADER)?;
            places.insert(start - HEADER, members.len());
            members.push(Member {
                name: member.name(),
                data: member.data(bytes)?,
                header,
                symbols: Vec::new(),
            });
        }
        for symbol in file.symbols()?.into_iter().flatten() {
            let symbol = symbol.context("reading the symbol index of the archive")?;
            let place = usize::try_from(symbol.offset().0)?;
            let member = places.get(&place).with_context(|| {
                format!("the symbol index names offset {place}, where no member begins")
            })?;
            members[*member].symbols.push(symbol.name());
        }
        let index_header = slice(bytes, MAGIC.len(), HEADER)?;
        let index_size: usize = std::str::from_utf8(&index_header[SIZE_FIELD])?
            .trim()
            .parse()?;
        let names = MAGIC.len() + HEADER + index_size + index_size % 2;
        let first = places.keys().next().copied().unwrap_or(bytes.len());
        Ok(Self {
            index_header,
            names: slice(bytes, names, first.wrapping_sub(names))?,
            members,
        })
    }

    /// All members, in order.
    pub fn members(&self) -> &[Member<'a>] {
        &self.members
    }

    /// The one member called `name`.
    ///
    /// # Errors
    /// There is none, or more than one: by name alone they cannot be told apart.
    pub fn member(&self, name: &str) -> Result<&Member<'a>> {
        let mut found = self
            .members
            .iter()
            .filter(|member| member.name == name.as_bytes());
        let member = found
            .next()
            .with_context(|| format!("the archive has no member `{name}`"))?;
        match found.count() {
            0 => Ok(member),
            more => bail!(
                "the archive has {} members called `{name}`; which of them to replace cannot be told by name",
                more + 1
            ),
        }
    }

    /// The archive with the members named in `new` replaced: order, names, times, owners and modes are kept, the symbol
    /// index is rewritten.
    ///
    /// # Errors
    /// A name that is not there once ([`Archive::member`]); a new member that is no object file; a stock member whose own
    /// symbols are not those that the index gives for it.
    pub fn replace(&self, new: &BTreeMap<String, Vec<u8>>) -> Result<Vec<u8>> {
        let mut members: Vec<Member<'_>> = self.members.clone();
        for (name, data) in new {
            let stock = self.member(name)?;
            if index_names(stock.data).with_context(|| format!("the stock member `{name}`"))?
                != stock.symbols
            {
                bail!("the archive's symbol index does not fit its member `{name}`");
            }
            for member in members
                .iter_mut()
                .filter(|member| member.name == stock.name)
            {
                member.data = data;
                member.symbols =
                    index_names(data).with_context(|| format!("the new member `{name}`"))?;
            }
        }
        self.assemble(&members)
    }

    /// Puts an archive together. Of a member's header only the size is written anew.
    fn assemble(&self, members: &[Member<'_>]) -> Result<Vec<u8>> {
        let count: usize = members.iter().map(|member| member.symbols.len()).sum();
        let mut strings: Vec<u8> = Vec::new();
        for name in members.iter().flat_map(|member| &member.symbols) {
            strings.extend_from_slice(name);
            strings.push(0);
        }
        let unpadded = 4 + 4 * count + strings.len();
        strings.resize(strings.len() + unpadded % 2, 0);
        let index_size = unpadded + unpadded % 2;

        let mut offset = MAGIC.len() + HEADER + index_size + self.names.len();
        let mut out = MAGIC.to_vec();
        push_header(&mut out, self.index_header, index_size)?;
        out.extend(u32::try_from(count)?.to_be_bytes());
        for member in members {
            let place = u32::try_from(offset).context("the archive would be larger than 4 GiB")?;
            member
                .symbols
                .iter()
                .for_each(|_| out.extend(place.to_be_bytes()));
            offset += HEADER + member.data.len() + member.data.len() % 2;
        }
        out.extend_from_slice(&strings);
        out.extend_from_slice(self.names);
        for member in members {
            push_header(&mut out, member.header, member.data.len())?;
            out.extend_from_slice(member.data);
            out.resize(out.len() + member.data.len() % 2, b'\n');
        }
        Ok(out)
    }
}

fn slice(bytes: &[u8], start: usize, len: usize) -> Result<&[u8]> {
    start
        .checked_add(len)
        .and_then(|end| bytes.get(start..end))
        .context("the archive is cut short")
}

/// A member's header with another size.
fn push_header(out: &mut Vec<u8>, header: &[u8], size: usize) -> Result<()> {
    let size = format!("{size:<10}");
    if size.len() != SIZE_FIELD.len() {
        bail!("a member is too large for the archive format: {size} bytes");
    }
    out.extend_from_slice(&header[..SIZE_FIELD.start]);
    out.extend_from_slice(size.as_bytes());
    out.extend_from_slice(&header[SIZE_FIELD.end..]);
    Ok(())
}

/// What GNU `ar` puts into the symbol index for an object: its global and weak definitions, commons too, in its own order.
fn index_names(object: &[u8]) -> Result<Vec<&[u8]>> {
    let file = object::File::parse(object).context("not an object file")?;
    let mut names = Vec::new();
    for symbol in file.symbols() {
        if symbol.is_global() && !symbol.is_undefined() {
            names.push(symbol.name_bytes()?);
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests;
