//! Functions for a coordinator, its actions and their data.

use super::{Answer, Call, data_kind};
use crate::el::Failure;
use crate::el::scope::{DataKind, DataUris, Scope};
use crate::el::value::Value;
use crate::time::{EndOf, Unit};
use std::borrow::Cow;

pub(super) fn period<'a>(
    call: &mut Call<'a, '_>,
    factor: i32,
    unit: Unit,
    end_of: EndOf,
) -> Answer<'a> {
    let number = call.integer(0);
    if number <= 0 {
        let message = format!("a period must be above 0, not {number}");
        return Err(Failure::exception("IllegalArgumentException", message));
    }
    call.effects.unit = Some((unit, end_of));
    Ok(Value::Integer(i64::from(number.wrapping_mul(factor))))
}

pub(super) fn coord_minutes<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    period(call, 1, Unit::Minute, EndOf::None)
}

pub(super) fn coord_hours<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    period(call, 60, Unit::Minute, EndOf::None)
}

pub(super) fn coord_days<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    period(call, 1, Unit::Day, EndOf::None)
}

pub(super) fn coord_months<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    period(call, 1, Unit::Month, EndOf::None)
}

pub(super) fn coord_end_of_days<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    period(call, 1, Unit::Day, EndOf::Day)
}

pub(super) fn coord_end_of_weeks<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    period(call, 1, Unit::Week, EndOf::Week)
}

pub(super) fn coord_end_of_months<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    period(call, 1, Unit::Month, EndOf::Month)
}

/// Implements `coord:conf` and `bundle:conf`, which read any variable and fail if it is not a string.
pub(super) fn coord_conf<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let name = call.text(0);
    let no_text = || {
        Failure::exception(
            "ClassCastException",
            format!("`{name}` is not a property but an object"),
        )
    };
    if call.effects.unit.is_some() && matches!(name.as_ref(), "timeunit" | "endOfDuration") {
        return Err(no_text());
    }
    let hidden = if let Some(input) = name.strip_prefix(".datain.") {
        data(call.scope, input, DataKind::In)
    } else if let Some(output) = name.strip_prefix(".dataout.") {
        data(call.scope, output, DataKind::Out)
    } else if name == "oozie.coord.el.app.bean" && call.scope.coordinator().is_some() {
        return Err(no_text());
    } else if let Some(data) = name.strip_prefix("oozie.dataname.") {
        match data_kind(call.scope, data) {
            Some(DataKind::In) => Some("data-in".into()),
            Some(DataKind::Out) => Some("data-out".into()),
            None => None,
        }
    } else {
        None
    };
    if let Some(text) = hidden {
        return Ok(Value::String(text));
    }
    match call.scope.variable(&name).or_else(|| call.phase.constant(&name)) {
        None | Some(Value::Null) => Ok(Value::Null),
        Some(Value::String(text)) => Ok(Value::String(text)),
        Some(_) => Err(no_text()),
    }
}

pub(super) fn coord_user<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    Ok(call.scope.variable("user.name").unwrap_or_default())
}

pub(super) fn coord_name<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    Ok(Value::optional(call.scope.coordinator().and_then(|coordinator| coordinator.name())))
}

pub(super) fn coord_action_id<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    Ok(Value::optional(call.scope.coordinator().and_then(|coordinator| coordinator.action_id())))
}

/// Returns the URIs of a data name, separated by commas; a property may override them.
pub(super) fn data<'a>(scope: &'a dyn Scope, name: &str, kind: DataKind) -> Option<Cow<'a, str>> {
    let uris = match (kind, scope.coordinator()) {
        (DataKind::In, Some(coordinator)) => coordinator.data_in(name),
        (DataKind::Out, Some(coordinator)) => coordinator.data_out(name),
        (_, None) => None,
    };
    match uris {
        Some(DataUris::Known(Some(uris))) if uris.contains('#') => {
            Some(uris.replace('#', ",").into())
        }
        Some(DataUris::Known(uris)) => uris,
        Some(DataUris::Unresolved) => None,
        None => {
            let prefix = if kind == DataKind::In { ".datain." } else { ".dataout." };
            match scope.variable(&format!("{prefix}{name}")) {
                Some(Value::String(uris)) => Some(uris),
                _ => None,
            }
        }
    }
}

pub(super) fn coord_data<'a>(call: &mut Call<'a, '_>, kind: DataKind) -> Answer<'a> {
    let name = call.text(0);
    let uris = call.scope.coordinator().and_then(|coordinator| match kind {
        DataKind::In => coordinator.data_in(&name),
        DataKind::Out => coordinator.data_out(&name),
    });
    if uris == Some(DataUris::Unresolved) {
        call.effects.unresolved = true;
        let function = if kind == DataKind::In { "dataIn" } else { "dataOut" };
        return Ok(Value::String(Cow::Owned(format!("${{coord:{function}('{name}')}}"))));
    }
    Ok(Value::optional(data(call.scope, &name, kind)))
}

pub(super) fn coord_data_in<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    coord_data(call, DataKind::In)
}

pub(super) fn coord_data_out<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    coord_data(call, DataKind::Out)
}
