//! What clients may hold of the server at once: passwords that are being tried, and bodies in memory.

use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

/// The largest body that is read, in bytes.
const LARGEST_BODY: usize = 10 << 20;
/// The largest archive of an application that is uploaded, in bytes.
const LARGEST_UPLOAD: usize = 256 << 20;
/// Bodies up to this size are read whenever they come, in bytes; submissions and commands are smaller.
const SMALL: usize = 64 << 10;
/// How many larger bodies, and how many uploads, are in memory at once; others wait.
const LARGE: usize = 12;
const UPLOADS: usize = 2;
/// How long a client may take for the body of a request, waiting included.
const BODY: Duration = Duration::from_secs(120);
/// How many requests may wait for their password to be tried; more are turned away.
const WAITING: usize = 64;

/// The limits of one server.
pub(crate) struct Limits {
    /// One password is tried at a time: it takes memory, and it is meant to take time.
    trying: Semaphore,
    waiting: Semaphore,
    large: Semaphore,
    uploads: Semaphore,
}

/// A body, and its place among the large ones until it is dropped.
pub(crate) struct Read<'a> {
    pub(crate) bytes: Vec<u8>,
    _place: Option<SemaphorePermit<'a>>,
}

impl Limits {
    pub(crate) fn new() -> Limits {
        Limits {
            trying: Semaphore::new(1),
            waiting: Semaphore::new(WAITING),
            large: Semaphore::new(LARGE),
            uploads: Semaphore::new(UPLOADS),
        }
    }

    /// The turn to try a password, which lasts until it is dropped; nothing if too many wait for theirs.
    ///
    /// Whoever needs no password tried is not held up by those who do: they wait here, and not on the threads that answer.
    pub(crate) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        let _waits = self.waiting.try_acquire().ok()?;
        self.trying.acquire().await.ok()
    }

    /// Reads a body.
    ///
    /// # Errors
    /// The status that refuses it: 400 where it breaks off, 408 where it takes too long, 413 where it is too large.
    pub(crate) async fn read(&self, body: Body, is_upload: bool) -> Result<Read<'_>, u16> {
        let (most, places) = match is_upload {
            true => (LARGEST_UPLOAD, &self.uploads),
            false => (LARGEST_BODY, &self.large),
        };
        // What says that it is too long is not waited for.
        if body.size_hint().lower() > most as u64 {
            return Err(413);
        }
        timeout(BODY, read(body, most, places)).await.unwrap_or(Err(408))
    }
}

async fn read(body: Body, most: usize, places: &Semaphore) -> Result<Read<'_>, u16> {
    let mut body = Limited::new(body, most);
    let mut bytes = Vec::new();
    let mut place = None;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| -> u16 {
            match error.is::<LengthLimitError>() {
                true => 413,
                // It does not have the form that its head says, or the client went away.
                false => 400,
            }
        })?;
        let Ok(data) = frame.into_data() else { continue };
        if place.is_none() && bytes.len() + data.len() > SMALL {
            place = places.acquire().await.ok();
        }
        bytes.extend_from_slice(&data);
    }
    Ok(Read { bytes, _place: place })
}
