//! Access to the process that runs the jobs of a store: this one, or another that is reached over its socket.
//!
//! A process that runs a store may end at any time. Unanswered requests are sent again to the next one, which may be
//! this process. Each request has an id, so that it is carried out once.

use super::needs;
use super::store::{self, StoreArguments};
use ankus_engine::driver::bundle::SubmitBundle;
use ankus_engine::driver::coordinator::{self as kept, SubmitCoordinator};
use ankus_engine::driver::places::{Limits, Waiting};
use ankus_engine::driver::{self, Driver, Needs, Opened, Place, Submit, Surroundings};
use ankus_engine::host::elsewhere::Everywhere;
use ankus_lang::machine::Command;
use ankus_lang::machine::coordinator::bundle::Event as BundleEvent;
use ankus_procedure::control::{Client, ControlError};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

/// Maximum time to find a process that answers, while the processes that run the store change.
const PATIENCE: Duration = Duration::from_secs(60);

/// The process that runs the jobs of a store.
pub(crate) struct Runner {
    link: Link,
    store: StoreArguments,
    needs: Needs,
    limits: Limits,
    /// Whether a request had to be repeated because it was not answered.
    pub(crate) has_asked_again: bool,
    /// The user of commands.
    asks: String,
}

/// The connection to the process.
pub(crate) enum Link {
    /// This process runs the store.
    Mine(Box<Driver>),
    /// Another process runs the store.
    Theirs(Box<Client>),
}

fn link(store: &StoreArguments, needs: &Needs, limits: &Limits) -> Result<Link, driver::Error> {
    let launcher = std::env::current_exe()
        .map_err(|error| driver::Error::Folder("the program that is running".into(), error))?;
    let surroundings = Surroundings {
        needs: needs.clone(),
        launchers: Box::new(Everywhere::new(launcher)),
        limits: limits.clone(),
        frontends: Box::new(needs::Kept),
    };
    let place = match store.network_store {
        true => Place::SharedFolder(store.store.clone()),
        false => Place::Folder(store.store.clone()),
    };
    Ok(match driver::open(place, surroundings)? {
        Opened::Mine(driver) => Link::Mine(driver),
        Opened::Theirs(client) => Link::Theirs(Box::new(client)),
    })
}

impl Runner {
    /// Opens a store to run its jobs, or connects to the process that does. Jobs that are submitted here get these
    /// needs.
    pub(crate) fn open(
        store: &StoreArguments,
        needs: Needs,
        limits: Limits,
    ) -> miette::Result<Runner> {
        let began = Instant::now();
        let link = loop {
            match link(store, &needs, &limits) {
                // The other process ended in the meantime.
                Err(driver::Error::Control(ControlError::Gone(_)))
                    if began.elapsed() < PATIENCE => {}
                other => break other.map_err(store::failure)?,
            }
        };
        let asks = needs.user.clone();
        Ok(Runner { link, store: store.clone(), needs, limits, has_asked_again: false, asks })
    }

    /// Returns the environment of jobs that are submitted here.
    #[cfg(feature = "serve")]
    pub(crate) fn needs(&self) -> &Needs {
        &self.needs
    }

    /// Returns the driver, if this process runs the store.
    pub(crate) fn driver(&self) -> Option<&Driver> {
        match &self.link {
            Link::Mine(driver) => Some(driver),
            Link::Theirs(_) => None,
        }
    }

    /// Sends a request to the process that runs the store, and repeats it while these processes change.
    fn ask<T>(
        &mut self,
        mut ask: impl FnMut(&mut Link) -> Result<T, driver::Error>,
    ) -> Result<T, driver::Error> {
        let began = Instant::now();
        loop {
            let answer = ask(&mut self.link);
            match answer {
                Err(driver::Error::Control(ControlError::Gone(_)))
                    if began.elapsed() < PATIENCE =>
                {
                    self.has_asked_again = true;
                    self.link = self.next()?;
                }
                answer => return answer,
            }
        }
    }

    /// Connects to the process that runs the store now.
    fn next(&self) -> Result<Link, driver::Error> {
        let began = Instant::now();
        loop {
            // Opening a store would create a missing one, but this request is about jobs of an existing one.
            if !self.store.store.join(driver::STORE).exists() {
                return Err(ankus_procedure::store::Error::Gone.into());
            }
            match link(&self.store, &self.needs, &self.limits) {
                Err(driver::Error::Control(ControlError::Gone(_)))
                    if began.elapsed() < PATIENCE => {}
                other => return other,
            }
        }
    }

    /// Checks whether another process still runs the store, and if not, connects to the current one. Returns whether
    /// the process has changed.
    pub(crate) fn is_handed_over(&mut self) -> Result<bool, driver::Error> {
        let is_there = match &mut self.link {
            Link::Mine(_) => true,
            Link::Theirs(client) => client.metrics().is_ok(),
        };
        if !is_there {
            self.link = self.next()?;
        }
        Ok(!is_there)
    }

    /// Ensures that a process runs a job: the one that accepted a command may end before the job has processed it.
    pub(crate) fn keep_going(&mut self, id: &str) -> Result<(), driver::Error> {
        if !self.is_handed_over()? {
            return Ok(());
        }
        match self.activate(id) {
            // The job may have ended, or been purged, meanwhile.
            Err(driver::Error::State(_) | driver::Error::Unknown(_)) => Ok(()),
            done => done,
        }
    }

    /// Submits a job.
    pub(crate) fn submit(&mut self, new: Submit) -> Result<String, driver::Error> {
        let (needs, number) = (self.needs.clone(), number());
        self.ask(|link| match link {
            Link::Mine(driver) => driver.submit_as(new.clone(), number),
            Link::Theirs(client) => driver::submit_there(client, &new, &needs, number),
        })
    }

    /// Submits a coordinator.
    pub(crate) fn submit_coordinator(
        &mut self,
        new: SubmitCoordinator,
    ) -> Result<String, driver::Error> {
        let (needs, number) = (self.needs.clone(), number());
        self.ask(|link| match link {
            Link::Mine(driver) => driver.submit_coordinator_as(new.clone(), number),
            Link::Theirs(client) => driver::submit_coordinator_there(client, &new, &needs, number),
        })
    }

    /// Submits a bundle.
    pub(crate) fn submit_bundle(&mut self, new: SubmitBundle) -> Result<String, driver::Error> {
        let (needs, number) = (self.needs.clone(), number());
        self.ask(|link| match link {
            Link::Mine(driver) => driver.submit_bundle_as(new.clone(), number),
            Link::Theirs(client) => driver::submit_bundle_there(client, &new, &needs, number),
        })
    }

    /// Sets the user of further requests; empty for none.
    #[cfg(feature = "serve")]
    pub(crate) fn on_behalf(&mut self, by: &str) -> &mut Runner {
        by.clone_into(&mut self.asks);
        self
    }

    /// Sends a command to a job.
    pub(crate) fn command(&mut self, id: &str, command: Command) -> Result<(), driver::Error> {
        let by = self.asks.clone();
        self.ask(|link| match link {
            Link::Mine(driver) => driver.on_behalf(&by).command(id, command),
            Link::Theirs(client) => driver::command_there(client, &by, id, command),
        })
    }

    /// Reruns an ended job.
    pub(crate) fn rerun(
        &mut self,
        id: &str,
        properties: &BTreeMap<String, String>,
    ) -> Result<(), driver::Error> {
        let by = self.asks.clone();
        self.ask(|link| match link {
            Link::Mine(driver) => driver.on_behalf(&by).rerun(id, None, properties),
            Link::Theirs(client) => driver::rerun_there(client, &by, id, None, properties),
        })
    }

    /// Sends a message to a coordinator.
    pub(crate) fn coordinator(
        &mut self,
        id: &str,
        message: &kept::Message,
    ) -> Result<(), driver::Error> {
        let by = self.asks.clone();
        self.ask(|link| match link {
            Link::Mine(driver) => driver.on_behalf(&by).coordinator(id, message),
            Link::Theirs(client) => driver::coordinator_there(client, &by, id, message),
        })
    }

    /// Sends a command to a bundle.
    pub(crate) fn bundle(&mut self, id: &str, event: &BundleEvent) -> Result<(), driver::Error> {
        let by = self.asks.clone();
        self.ask(|link| match link {
            Link::Mine(driver) => driver.on_behalf(&by).bundle(id, event),
            Link::Theirs(client) => driver::bundle_there(client, &by, id, event),
        })
    }

    /// Stops waiting for programs of an ended job.
    pub(crate) fn abandon(&mut self, id: &str) -> Result<(), driver::Error> {
        let by = self.needs.user.clone();
        self.ask(|link| match link {
            Link::Mine(driver) => driver.abandon(id),
            Link::Theirs(client) => driver::abandon_there(client, &by, id),
        })
    }

    /// Returns the actions of a job that are ready to start, but have to wait.
    pub(crate) fn waiting(&mut self, id: &str) -> Result<Vec<Waiting>, driver::Error> {
        self.ask(|link| match link {
            Link::Mine(driver) => Ok(driver.waiting(id)),
            Link::Theirs(client) => driver::waiting_there(client, id),
        })
    }

    /// Lets a job perform its pending work.
    pub(crate) fn activate(&mut self, id: &str) -> Result<(), driver::Error> {
        self.ask(|link| match link {
            Link::Mine(driver) => driver.activate(id),
            Link::Theirs(client) => driver::activate_there(client, id),
        })
    }

    /// Lets every job perform its pending work, and optionally resumes suspended jobs.
    pub(crate) fn activate_all(&mut self, resumes: bool) -> Result<(), driver::Error> {
        let by = self.needs.user.clone();
        self.ask(|link| match link {
            Link::Mine(driver) => driver.activate_all(resumes).map(|_| ()),
            Link::Theirs(client) => driver::activate_all_there(client, &by, resumes),
        })
    }
}

/// Returns a random id for a request.
fn number() -> u64 {
    // The standard library seeds it from the system's randomness.
    RandomState::new().hash_one((std::process::id(), Instant::now()))
}
