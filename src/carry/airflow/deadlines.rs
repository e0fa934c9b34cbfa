//! SLAs as deadlines of Airflow 3 and as `sla` of Airflow 2.10, if the settings of the site ask for them.

use super::python::Value;
use super::{Dag, Printer};
use crate::carry::ledger::Outcome;
use crate::ir::coordinator::Sla;
use ankus_lang::el::{Phase, Template, Variables};

/// The reason reported for a part of an SLA that has no counterpart in Airflow.
const UNHEARD: &str = "Airflow has no counterpart for it";

impl Printer<'_> {
    /// Converts the SLA of a coordinator. Returns whether that was possible.
    pub(super) fn deadline(&mut self, sla: &Sla, dag: &mut Dag) -> bool {
        let wanted = self.given.migration.values.get("sla").map(String::as_str);
        let leaf = |name: &str| {
            let found = sla.leaves.iter().find(|(known, _)| known == name);
            found.map(|(_, scalar)| scalar.clone())
        };
        let nominal = leaf("nominal-time");
        let is_own = nominal.is_some_and(|text| text.as_str().trim() == "${coord:nominalTime()}");
        let Some(contact) = leaf("alert-contact").filter(|text| !text.as_str().trim().is_empty())
        else {
            return false;
        };
        let dialect = self.given.dialect;
        let minutes = |name: &str| {
            let written = leaf(name)?;
            let template =
                Template::compile(written.as_str(), Phase::CoordinatorSlaCreate, dialect);
            let nothing = Variables::default();
            let text = template.text(&nothing).ok()?;
            text.trim().parse::<u32>().ok().filter(|minutes| *minutes > 0)
        };
        let (end, duration) = (minutes("should-end"), minutes("max-duration"));
        let (Some(end), true, Some("deadline")) = (end, is_own, wanted) else { return false };
        let contact = self.say(&contact).jinja();
        let message = leaf("notification-msg").map(|text| self.say(&text).jinja());
        let message = message.unwrap_or_else(|| "a deadline is missed".to_owned());
        match self.version.is_two() {
            true => self.sla_of_tasks(end, contact, dag),
            false => self.alerts(end, duration, contact, message, dag),
        }
        self.claim_deadline(sla, duration.is_some());
        true
    }

    fn claim_deadline(&mut self, sla: &Sla, lasts: bool) {
        let is_two = self.version.is_two();
        for (name, scalar) in &sla.leaves {
            let (outcome, reason, remedy) = match name.as_str() {
                "nominal-time" => (Outcome::Exact, "", ""),
                "should-end" if is_two => {
                    let reason = "every task that has not succeeded by then is reported, from the second run on";
                    (Outcome::Approximate, reason, "")
                }
                "should-end" => {
                    let reason = "a run that ends in failure before it is late is not reported, and runs that are started by hand have no deadline";
                    (Outcome::Approximate, reason, "")
                }
                "max-duration" if lasts && !is_two => {
                    (Outcome::Approximate, "it counts from when the run is queued", "")
                }
                "alert-contact" => {
                    (Outcome::Approximate, "Airflow adds text of its own to the mail", "")
                }
                "notification-msg" if !is_two => (Outcome::Exact, "", ""),
                "alert-events" => {
                    let reason = "a late end is reported, but a late start is not";
                    (Outcome::Approximate, reason, "")
                }
                _ => (Outcome::None, UNHEARD, "set up an alert in your monitoring"),
            };
            self.now.ledger.claim(scalar.span(), outcome, reason, remedy);
        }
        self.now.ledger.exact(sla.tag);
    }

    /// Adds the deadlines of the run, with the notifier that reports a miss.
    fn alerts(
        &mut self,
        end: u32,
        duration: Option<u32>,
        contact: String,
        message: String,
        dag: &mut Dag,
    ) {
        for class in ["AsyncCallback", "DeadlineAlert", "DeadlineReference"] {
            self.import("airflow.sdk", class);
        }
        self.import("airflow.providers.smtp.notifications.smtp", "SmtpNotifier");
        let alert = |reference: &str, minutes: u32| {
            let mail = vec![
                ("to".to_owned(), Value::text(&contact)),
                ("subject".to_owned(), Value::text(format!("{} is late", self.given.name))),
                ("html_content".to_owned(), Value::text(format!("<pre>{message}</pre>"))),
            ];
            let callback = vec![
                ("callback_callable".to_owned(), Value::code("SmtpNotifier")),
                ("kwargs".to_owned(), Value::Dict(mail)),
            ];
            let given = vec![
                ("reference".to_owned(), Value::code(format!("DeadlineReference.{reference}"))),
                ("interval".to_owned(), Value::code(format!("dt.timedelta(minutes={minutes})"))),
                ("callback".to_owned(), Value::Call("AsyncCallback".to_owned(), callback)),
            ];
            Value::Call("DeadlineAlert".to_owned(), given)
        };
        let mut alerts = vec![alert("DAGRUN_LOGICAL_DATE", end)];
        alerts.extend(duration.map(|minutes| alert("DAGRUN_QUEUED_AT", minutes)));
        dag.arguments.push(("deadline".to_owned(), Value::List(alerts)));
    }

    /// Sets `sla` for every task, and the address that Airflow notifies of a miss; failures are not notified.
    fn sla_of_tasks(&mut self, end: u32, contact: String, dag: &mut Dag) {
        let given = vec![
            ("sla".to_owned(), Value::code(format!("dt.timedelta(minutes={end})"))),
            ("email".to_owned(), Value::text(contact)),
            ("email_on_failure".to_owned(), Value::code("False")),
            ("email_on_retry".to_owned(), Value::code("False")),
        ];
        dag.task_arguments.extend(given);
    }
}
