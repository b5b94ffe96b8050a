//! Names of files in the headers of a diff.

/// A name that a header says: not at all, that there is no file, or that one.
pub(super) type Said = Option<Option<String>>;

/// The name after `---` or `+++`: quoted or not, with a time after a tab or not; `None` for no file.
pub(super) fn read(rest: &str) -> Result<Option<String>, String> {
    let rest = rest.trim_end_matches(['\n', '\r']);
    let name = match rest.starts_with('"') {
        true => unquote(rest)?.0,
        false => rest.split('\t').next().unwrap_or(rest).to_owned(),
    };
    Ok((name != "/dev/null").then_some(name))
}

/// A name that has no prefix.
pub(super) fn plain(rest: &str) -> Result<String, String> {
    let name = if rest.starts_with('"') { unquote(rest)?.0 } else { rest.to_owned() };
    clean(&name)
}

/// The name after `diff --git` where both sides have the same; others are named elsewhere.
pub(super) fn same(names: &str) -> Option<String> {
    let names = names.trim_end_matches(['\n', '\r']);
    let (old, new) = if names.starts_with('"') {
        let (old, rest) = unquote(names).ok()?;
        (old, unquote(rest.trim_start()).ok()?.0)
    } else {
        let (old, new) = names.split_at_checked(names.len() / 2)?;
        (old.to_owned(), new.strip_prefix(' ')?.to_owned())
    };
    let (old, new) = strip(Some(Some(old)), Some(Some(new))).ok()?;
    old.flatten().filter(|old| new.flatten().as_ref() == Some(old))
}

/// Takes `a/` and `b/` away where both sides have them.
pub(super) fn strip(old: Said, new: Said) -> Result<(Said, Said), String> {
    let has = |said: &Said, prefix: &str| match said {
        None | Some(None) => true,
        Some(Some(name)) => name.starts_with(prefix),
    };
    let is_prefixed = has(&old, "a/") && has(&new, "b/");
    let name = |said: Said, prefix: &str| match said {
        None => Ok(None),
        Some(None) => Ok(Some(None)),
        Some(Some(name)) => {
            let bare = name.strip_prefix(prefix).filter(|_| is_prefixed);
            clean(bare.unwrap_or(&name)).map(|name| Some(Some(name)))
        }
    };
    Ok((name(old, "a/")?, name(new, "b/")?))
}

/// One spelling for each path, so that two changes of a file are seen to be of one.
fn clean(name: &str) -> Result<String, String> {
    if name.starts_with('/') {
        return Err(format!("`{name}` is absolute: name it from the work tree on"));
    }
    let parts: Vec<_> = name.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    match parts.is_empty() || parts.contains(&"..") || name.contains('\0') {
        true => Err(format!("`{}` is no path of a file in the work tree", name.replace('\0', "\\0"))),
        false => Ok(parts.join("/")),
    }
}

/// Reads a name as git quotes it, and what comes after it.
fn unquote(text: &str) -> Result<(String, &str), String> {
    let broken = || format!("the name {text} in the diff is not quoted as git does it");
    let mut bytes = Vec::new();
    let mut rest = text.strip_prefix('"').ok_or_else(broken)?.char_indices();
    let body = &text[1..];
    while let Some((at, letter)) = rest.next() {
        match letter {
            '"' => {
                let name = String::from_utf8(bytes).map_err(|_| broken())?;
                return Ok((name, &body[at + 1..]));
            }
            '\\' => match rest.next().ok_or_else(broken)? {
                (_, 'n') => bytes.push(b'\n'),
                (_, 't') => bytes.push(b'\t'),
                (_, 'r') => bytes.push(b'\r'),
                (_, 'a') => bytes.push(7),
                (_, 'b') => bytes.push(8),
                (_, 'v') => bytes.push(11),
                (_, 'f') => bytes.push(12),
                (_, same @ ('"' | '\\')) => bytes.push(same as u8),
                (start, '0'..='3') => {
                    let digits = body.get(start..start + 3).ok_or_else(broken)?;
                    bytes.push(u8::from_str_radix(digits, 8).map_err(|_| broken())?);
                    rest.nth(1);
                }
                (_, _) => return Err(broken()),
            },
            letter => bytes.extend(letter.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Err(broken())
}
