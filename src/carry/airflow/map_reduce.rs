//! MapReduce jobs: those that consist of their configuration only, and those that stream to programs.

use super::Printer;
use super::actions::{Lines, configuration, last_part};
use super::expression::Text;
use crate::carry::commands::{PIPES, STREAMED};
use crate::carry::ledger::Outcome;
use crate::ir::Scalar;
use crate::ir::workflow::{Body, Details, Group};

impl Printer<'_> {
    /// Returns the line that starts the job; a job that consists of its configuration only adds lines.
    pub(super) fn map_reduce(&mut self, body: &Body, lines: &mut Lines) -> Option<String> {
        let Details::MapReduce { streaming, pipes, config_class } = &body.details else {
            return None;
        };
        if let Some(class) = config_class {
            let reason = "`config-class` is not converted";
            self.now.ledger.claim(
                class.span(),
                Outcome::None,
                reason,
                "write the properties that it sets into the configuration",
            );
            self.now.ledger.whole(body.span, Outcome::None, reason, "start the job by hand");
            return Some("echo the job was not converted >&2; exit 1".to_owned());
        }
        match (streaming, pipes) {
            (Some(streaming), _) => Some(self.streaming(body, streaming, lines)),
            (None, Some(pipes)) => Some(self.pipes(body, pipes, lines)),
            (None, None) => {
                self.job_file(body, lines);
                None
            }
        }
    }

    fn streaming(&mut self, body: &Body, streaming: &Group, lines: &mut Lines) -> String {
        let shipped = self.shipped(body, lines);
        let (mut options, mut streams) = (String::new(), String::new());
        for (name, value) in self.settings(body) {
            let option = name.known().and_then(|known| {
                let (_, option) = STREAMED.iter().find(|(property, _)| *property == known)?;
                Some(*option)
            });
            match option {
                Some(option) => streams.push_str(&format!(" {option} {}", value.word())),
                None => options.push_str(&self.option("-D ", name, value)),
            }
        }
        for (name, scalar) in &streaming.settings {
            let value = self.say(scalar);
            match &**name {
                "mapper" | "reducer" => streams.push_str(&format!(" -{name} {}", value.word())),
                "record-reader" => streams.push_str(&format!(" -inputreader {}", value.word())),
                "env" => streams.push_str(&format!(" -cmdenv {}", value.word())),
                "record-reader-mapping" => {
                    let pair = Text::literal("stream.recordreader.").then(value);
                    options.push_str(&format!(" -D {}", pair.word()));
                }
                _ => self.differs(scalar.span(), "it is left out", "pass it by `-D`"),
            }
        }
        if !(streams.contains(" -input ") && streams.contains(" -output ")) {
            let reason = "paths of input and output are those of its configuration";
            self.differs(body.tag, reason, "give the tool -input and -output");
        }
        format!("mapred streaming{shipped}{options}{streams}")
    }

    fn pipes(&mut self, body: &Body, pipes: &Group, lines: &mut Lines) -> String {
        let shipped = self.shipped(body, lines);
        let options: String = self
            .settings(body)
            .into_iter()
            .map(|(name, value)| self.option("-D ", name, value))
            .collect();
        let mut programs = String::new();
        for (name, scalar) in &pipes.settings {
            let value = self.say(scalar);
            match PIPES.iter().find(|(element, _)| *element == &**name) {
                Some((_, option)) => {
                    let value =
                        if *name == *"program" { self.absolute(value, scalar) } else { value };
                    programs.push_str(&format!(" {option} {}", value.word()));
                }
                None => self.differs(scalar.span(), "it is left out", "pass it by `-D`"),
            }
        }
        format!("mapred pipes{shipped}{options}{programs}")
    }

    /// Returns the generic Hadoop options for properties files and for files of the job's tasks.
    fn shipped(&mut self, body: &Body, lines: &mut Lines) -> String {
        let mut out = String::new();
        for scalar in &body.job_xml {
            let text = self.say(scalar);
            let (path, name) = text.split_name(last_part);
            let path = self.absolute(path, scalar);
            lines.push(format!("hdfs dfs -get -f {} {}", path.word(), name.word()));
            out.push_str(&format!(" -conf {}", name.word()));
        }
        for (scalars, option) in [(&body.files, "-files"), (&body.archives, "-archives")] {
            let scalars: Vec<&Scalar> = scalars.iter().collect();
            if let Some(all) = self.listed(&scalars) {
                out.push_str(&format!(" {option} {}", all.word()));
            }
        }
        out
    }

    /// Joins paths with commas.
    fn listed(&mut self, scalars: &[&Scalar]) -> Option<Text> {
        Text::listed(scalars.iter().map(|scalar| {
            let path = self.say(scalar);
            self.absolute(path, scalar)
        }))
    }

    /// Adds the commands for a job that consists of its configuration only. The files for its tasks are in the
    /// configuration, too, because `mapred job` has no options for them.
    fn job_file(&mut self, body: &Body, lines: &mut Lines) {
        self.files_of_settings(body, lines);
        let mut properties = self.settings(body);
        // A jar without a link name is added to the class path.
        let is_jar = |file: &&Scalar| file.as_str().trim().ends_with(".jar");
        let (jars, files): (Vec<&Scalar>, Vec<&Scalar>) = body.files.iter().partition(is_jar);
        for jar in jars {
            let path = self.say(jar);
            let path = self.absolute(path, jar);
            lines.push(format!("hdfs dfs -get -f {} .", path.word()));
        }
        let archives: Vec<&Scalar> = body.archives.iter().collect();
        for (scalars, name) in [(files, "tmpfiles"), (archives, "tmparchives")] {
            if let Some(all) = self.listed(&scalars) {
                properties.push((Text::literal(name), all));
            }
        }
        let lib = self.application_folder().then(Text::literal("/lib/*.jar"));
        lines.push(format!("hdfs dfs -get -f {} . || true", lib.jinja()));
        lines.push("export HADOOP_CLASSPATH=\"./*\"".to_owned());
        configuration("job.xml", &properties, lines);
        let found =
            r#"jars=$(ls -d "$PWD"/*.jar 2> /dev/null | sed "s|^|file://|" | paste -sd , -)"#;
        let named = "<property><name>tmpjars</name><value>$jars</value></property>";
        lines.push(found.to_owned());
        lines.push(format!(r#"[ -z "$jars" ] || sed -i "s|</configuration>|{named}&|" job.xml"#));
        lines.push(
            "job=$(mapred job -submit job.xml | grep -o 'job_[0-9_]*' | head -n 1)".to_owned(),
        );
        lines.push("until mapred job -status \"$job\" > status; grep -qE 'SUCCEEDED|FAILED|KILLED' status; do".to_owned());
        lines.push("  sleep 10".to_owned());
        lines.push("done".to_owned());
        lines.push("grep -q SUCCEEDED status".to_owned());
    }
}
