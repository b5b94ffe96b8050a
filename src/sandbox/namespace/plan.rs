//! Which of the listed places are mounted, in which order, and which directories and links lead to them. Pure.
//!
//! A place inside another one that grants as much needs no mount of its own, as the rules of Landlock add up too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What may be done at a place, the lesser first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PlaceAccess {
    Read,
    Write,
}

/// Places by their real paths, and the symbolic links that lead to them.
#[derive(Debug)]
pub(super) struct ListedPlaces<T> {
    pub(super) places: BTreeMap<PathBuf, (PlaceAccess, T)>,
    /// Where each link is, and its text.
    pub(super) links: BTreeMap<PathBuf, PathBuf>,
    /// Directories that exist without their content.
    pub(super) empty: BTreeSet<PathBuf>,
}

/// One thing to make below the new root, in this order.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ViewStep<T> {
    Directory(PathBuf),
    Link { at: PathBuf, text: PathBuf },
    Mount { at: PathBuf, access: PlaceAccess, source: T, point: MountPoint },
}

/// Whether the place to mount on is there already, as part of another mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MountPoint {
    Exists,
    Missing,
}

impl<T> Default for ListedPlaces<T> {
    fn default() -> Self {
        Self { places: BTreeMap::new(), links: BTreeMap::new(), empty: BTreeSet::new() }
    }
}

impl<T> ListedPlaces<T> {
    /// Adds a place; listed twice, the greater access counts.
    pub(super) fn add(&mut self, path: PathBuf, access: PlaceAccess, source: T) {
        let place = self.places.entry(path).or_insert((access, source));
        place.0 = place.0.max(access);
    }

    /// What to make, parents before what is in them.
    pub(super) fn into_steps(self) -> Vec<ViewStep<T>> {
        let Self { places, links, empty } = self;
        let mut mounted: BTreeMap<PathBuf, PlaceAccess> = BTreeMap::new();
        let mut mounts = Vec::new();
        for (at, (access, source)) in places {
            let above = nearest(&mounted, &at);
            if above.is_some_and(|above| above >= access) {
                continue;
            }
            let point = if above.is_some() { MountPoint::Exists } else { MountPoint::Missing };
            mounted.insert(at.clone(), access);
            mounts.push(ViewStep::Mount { at, access, source, point });
        }
        let is_outside = |path: &Path| nearest(&mounted, path).is_none();
        let missing = mounts.iter().filter_map(|step| match step {
            ViewStep::Mount { at, point: MountPoint::Missing, .. } => Some(at.as_path()),
            ViewStep::Mount { .. } | ViewStep::Directory(_) | ViewStep::Link { .. } => None,
        });
        let links: Vec<_> = links.into_iter().filter(|(at, _)| is_outside(at)).collect();
        let parents = missing.chain(links.iter().map(|(at, _)| at.as_path())).filter_map(Path::parent);
        let wanted = parents.chain(empty.iter().map(PathBuf::as_path)).filter(|path| is_outside(path));
        let directories: BTreeSet<PathBuf> =
            wanted.flat_map(Path::ancestors).filter(|path| path.parent().is_some()).map(PathBuf::from).collect();
        let directories = directories.into_iter().map(ViewStep::Directory);
        let links = links.into_iter().map(|(at, text)| ViewStep::Link { at, text });
        directories.chain(links).chain(mounts).collect()
    }
}

/// The access of the closest mount that holds a path.
fn nearest(mounted: &BTreeMap<PathBuf, PlaceAccess>, path: &Path) -> Option<PlaceAccess> {
    path.ancestors().find_map(|above| mounted.get(above).copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use PlaceAccess::{Read, Write};

    #[track_caller]
    fn steps(places: &[(&str, PlaceAccess)], links: &[(&str, &str)], empty: &[&str]) -> String {
        let mut listed = ListedPlaces::default();
        for (path, access) in places {
            listed.add(PathBuf::from(path), *access, ());
        }
        listed.links = links.iter().map(|(at, text)| (PathBuf::from(at), PathBuf::from(text))).collect();
        listed.empty = empty.iter().map(PathBuf::from).collect();
        let line = |step: &ViewStep<()>| match step {
            ViewStep::Directory(path) => format!("directory {}", path.display()),
            ViewStep::Link { at, text } => format!("link {} -> {}", at.display(), text.display()),
            ViewStep::Mount { at, access, point, .. } => format!("{access:?} {} ({point:?})", at.display()),
        };
        listed.into_steps().iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn parents_come_first_and_links_lead_to_places() {
        insta::assert_snapshot!(
            steps(&[("/usr", Read), ("/d/tree", Write), ("/dev/null", Write)], &[("/bin", "usr/bin")], &["/home/u", "/d"]),
            @r"
        directory /d
        directory /dev
        directory /home
        directory /home/u
        link /bin -> usr/bin
        Write /d/tree (Missing)
        Write /dev/null (Missing)
        Read /usr (Missing)
        "
        );
    }

    #[test]
    fn a_place_inside_another_is_mounted_only_if_it_grants_more() {
        insta::assert_snapshot!(
            steps(
                &[("/a", Read), ("/a/b", Read), ("/a/b/c", Write), ("/a/b/c/d", Read), ("/w", Write), ("/w/r", Read)],
                &[("/a/link", "b"), ("/w/r/link", "x")],
                &["/a/b/empty"],
            ),
            @r"
        Read /a (Missing)
        Write /a/b/c (Exists)
        Write /w (Missing)
        "
        );
        assert_eq!(steps(&[("/a", Read), ("/a", Write), ("/a", Read)], &[], &[]), "Write /a (Missing)");
    }
}
