//! Limits the resources that clients can use at once: password verifications, and bodies in memory.

use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

/// Maximum size of a body, in bytes.
const LARGEST_BODY: usize = 10 << 20;
/// Maximum size of an uploaded archive of an application, in bytes.
const LARGEST_UPLOAD: usize = 256 << 20;
/// Size up to which bodies are read without waiting, in bytes; submissions and commands are smaller.
const SMALL: usize = 64 << 10;
/// Maximum number of larger bodies, and of uploads, in memory at once; others wait.
const LARGE: usize = 12;
const UPLOADS: usize = 2;
/// Time-out for reading the body of a request, including waiting.
const BODY: Duration = Duration::from_secs(120);
/// Maximum number of requests that wait for the verification of their password; more are refused.
const WAITING: usize = 64;

/// The limits of one server.
pub(crate) struct Limits {
    /// Passwords are verified one at a time, since that takes memory, and deliberately takes time.
    trying: Semaphore,
    waiting: Semaphore,
    large: Semaphore,
    uploads: Semaphore,
}

/// A body, which counts against the limit of large ones until it is dropped.
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

    /// Waits for permission to verify a password, which is held until it is dropped; none if too many requests are
    /// waiting.
    ///
    /// Requests wait here and not on the threads that answer, so that they do not block requests without a password.
    pub(crate) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        let _waits = self.waiting.try_acquire().ok()?;
        self.trying.acquire().await.ok()
    }

    /// Reads a body.
    ///
    /// # Errors
    /// The status of the refusal: 400 if the body is incomplete, 408 if it takes too long, 413 if it is too large.
    pub(crate) async fn read(&self, body: Body, is_upload: bool) -> Result<Read<'_>, u16> {
        let (most, places) = match is_upload {
            true => (LARGEST_UPLOAD, &self.uploads),
            false => (LARGEST_BODY, &self.large),
        };
        // If the announced length is too large, nothing is read.
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
                // The body does not have the announced form, or the client disconnected.
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
