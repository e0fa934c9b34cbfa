//! Functions for tables and partitions of HCatalog.

use super::{Answer, Call};
use crate::el::Failure;
use crate::el::scope::DataKind;
use crate::el::value::Value;
use std::borrow::Cow;

pub(super) fn hcat_exists<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let uri = call.text(0);
    hcat(&uri)?;
    match call.scope.hcat_exists(&uri) {
        Some(answer) => answer.map(Value::Boolean),
        None => Err(Failure::unavailable(
            "no HCatalog is configured here, so nothing can say whether a partition exists",
        )),
    }
}

/// A parsed HCatalog URI.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HcatUri {
    /// Database.
    pub database: String,
    /// Table.
    pub table: String,
    /// Partition keys with values, in order.
    pub partitions: Vec<(String, String)>,
}

/// Parses an HCatalog URI, whatever its scheme.
pub fn hcat(uri: &str) -> Result<HcatUri, Box<Failure>> {
    let wrong = |why: &str| Failure::exception("RuntimeException", format!("`{uri}` {why}"));
    let Some((_, rest)) = uri.split_once("://") else {
        return Err(wrong("is not a URI with a host: hcat://host:port/database/table/key=value"));
    };
    let path = rest.split_once('/').map_or("", |(_, path)| path);
    let mut segments = path.split('/').filter(|segment| !segment.is_empty());
    let (Some(database), Some(table), partitions, None) =
        (segments.next(), segments.next(), segments.next(), segments.next())
    else {
        return Err(wrong("needs a database, a table and at most one segment of partitions"));
    };
    let partitions = partitions
        .into_iter()
        .flat_map(|partitions| partitions.split(';'))
        .map(|partition| match partition.split_once('=') {
            Some((key, value)) if !value.contains('=') => Ok((key.to_owned(), value.to_owned())),
            _ => Err(wrong("has a partition that is not key=value")),
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(HcatUri { database: database.to_owned(), table: table.to_owned(), partitions })
}

/// Returns the HCatalog URIs of a data name.
fn hcat_uris(call: &mut Call<'_, '_>, kind: DataKind) -> Result<Vec<HcatUri>, Box<Failure>> {
    let name = call.text(0);
    let Some(uris) = super::coordinator::data(call.scope, &name, kind) else {
        return Ok(Vec::new());
    };
    // Hosts may be separated by commas as well, so a URI begins only at a scheme.
    let mut parts: Vec<String> = Vec::new();
    for part in uris.split([',', '#']).filter(|part| !part.is_empty()) {
        match parts.last_mut() {
            Some(last) if !last[last.find("://").map_or(0, |at| at + 3)..].contains('/') => {
                last.push(',');
                last.push_str(part);
            }
            _ => parts.push(part.to_owned()),
        }
    }
    parts.iter().map(|uri| hcat(uri)).collect()
}

fn hcat_first<'a>(
    call: &mut Call<'a, '_>,
    kind: DataKind,
    part: fn(HcatUri) -> String,
) -> Answer<'a> {
    let first = hcat_uris(call, kind)?.into_iter().next();
    Ok(Value::String(Cow::Owned(first.map(part).unwrap_or_default())))
}

pub(super) fn hcat_database_in<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    hcat_first(call, DataKind::In, |uri| uri.database)
}

pub(super) fn hcat_table_in<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    hcat_first(call, DataKind::In, |uri| uri.table)
}

pub(super) fn hcat_database_out<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    hcat_first(call, DataKind::Out, |uri| uri.database)
}

pub(super) fn hcat_table_out<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    hcat_first(call, DataKind::Out, |uri| uri.table)
}

pub(super) fn hcat_filter<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let equals = if call.text(1).eq_ignore_ascii_case("pig") { "==" } else { "=" };
    let filters: Vec<String> = hcat_uris(call, DataKind::In)?
        .into_iter()
        .map(|uri| {
            let parts: Vec<String> = uri
                .partitions
                .iter()
                .map(|(key, value)| format!("{key}{equals}'{value}'"))
                .collect();
            format!("({})", parts.join(" AND "))
        })
        .collect();
    Ok(Value::String(Cow::Owned(filters.join(" OR "))))
}

pub(super) fn hcat_extreme<'a>(call: &mut Call<'a, '_>, largest: bool) -> Answer<'a> {
    let key = call.text(1);
    let mut found: Option<String> = None;
    for uri in hcat_uris(call, DataKind::In)? {
        let Some((_, value)) = uri.partitions.into_iter().find(|(name, _)| *name == key) else {
            let message = format!("there is no partition key `{key}`");
            return Err(Failure::exception("RuntimeException", message));
        };
        found = Some(match found {
            Some(best) if (crate::el::value::utf16_compare(&value, &best).is_gt()) != largest => {
                best
            }
            _ => value,
        });
    }
    Ok(Value::optional(found))
}

pub(super) fn hcat_min<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    hcat_extreme(call, false)
}

pub(super) fn hcat_max<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    hcat_extreme(call, true)
}

pub(super) fn hcat_partitions<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let kind = call.text(1);
    let uris = hcat_uris(call, DataKind::In)?;
    let [uri] = uris.as_slice() else {
        let message = "this needs an input with exactly one instance";
        return Err(Failure::exception("RuntimeException", message));
    };
    if kind != "hive-export" {
        let message = format!("`{kind}` is not a valid type of partitions: only `hive-export` is");
        return Err(Failure::exception("RuntimeException", message));
    }
    let parts: Vec<String> =
        uri.partitions.iter().map(|(key, value)| format!("{key}='{value}'")).collect();
    Ok(Value::String(Cow::Owned(parts.join(","))))
}

pub(super) fn hcat_out_partitions<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let first = hcat_uris(call, DataKind::Out)?.into_iter().next().unwrap_or_default();
    let parts: Vec<String> =
        first.partitions.iter().map(|(key, value)| format!("{key}={value}")).collect();
    Ok(Value::String(Cow::Owned(format!("'{}'", parts.join(",")))))
}

pub(super) fn hcat_out_value<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let key = call.text(1);
    let first = hcat_uris(call, DataKind::Out)?.into_iter().next().unwrap_or_default();
    Ok(Value::optional(
        first.partitions.into_iter().find(|(name, _)| *name == key).map(|(_, value)| value),
    ))
}
