//! The contents of action elements reach their programs, and what does not is listed.

use crate::run::{ankus, application, text};
use ankus::schema::{Schema, Type, TypeRef, family};
use ankus_engine::actions::carried;
use ankus_lang::action_types::ACTION_TYPES;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Everything that an element of the schemas may contain, two levels deep.
fn elements(schema: &Schema, ty: &Type) -> Vec<String> {
    let mut found = Vec::new();
    for child in ty.children() {
        found.push(child.name.to_string());
        if let TypeRef::Type(id) = child.kind {
            let below = schema.ty(id).children().iter();
            found.extend(below.map(|below| format!("{}/{}", child.name, below.name)));
        }
    }
    found
}

#[test]
fn every_element_of_every_action_has_a_row() {
    let mut missing = Vec::new();
    let mut seen = 0;
    for kind in &ACTION_TYPES {
        let of = family(kind.name).unwrap_or_else(|| family("workflow").expect("a family"));
        for schema in of.schemas() {
            let Some(root) = schema.root(kind.name) else { continue };
            for name in elements(schema, schema.ty(root)) {
                seen += 1;
                let is_property = name == "configuration/property";
                if !is_property
                    && carried::element(kind.name, &name, carried::Where::Here).is_none()
                {
                    missing.push(format!("{} {name}", kind.name));
                }
            }
        }
    }
    missing.sort();
    missing.dedup();
    assert!(seen > 300, "{seen}");
    assert_eq!(missing, Vec::<String>::new());
}

const WORKFLOW: &str = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='x'>
  <global><launcher><memory.mb>512</memory.mb><env>A=1:B=2</env></launcher></global>
  <start to='a'/>
  <action name='a'><shell xmlns='uri:oozie:shell-action:1.0'><resource-manager>rm:1</resource-manager>
    <name-node>hdfs://nn</name-node><launcher><vcores>2</vcores></launcher>
    <configuration>
      <property><name>oozie.launcher.mapreduce.map.memory.mb</name><value>4096</value></property>
    </configuration>
    <exec>sh</exec><argument>-c</argument><argument>echo $A $B; ls</argument><capture-output/></shell>
    <ok to='m'/><error to='k'/></action>
  <action name='m'><map-reduce><resource-manager>rm:1</resource-manager><name-node>hdfs://nn</name-node>
    <streaming><mapper>cat</mapper></streaming><job-xml>site/more.xml</job-xml><config-class>a.B</config-class></map-reduce><ok to='e'/><error to='k'/></action>
  <kill name='k'><message>bad</message></kill><end name='e'/>
</workflow-app>";

#[test]
fn what_has_no_effect_is_listed_before_the_run_and_in_its_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let more = "<configuration><property><name>oozie.launcher.mapreduce.reduce.memory.mb</name><value>1</value></property></configuration>";
    application(folder.path(), &[("app/workflow.xml", WORKFLOW), ("app/site/more.xml", more)]);
    let listed = [
        "app/workflow.xml:4: action `a`: <launcher>: vcores has no effect",
        "app/workflow.xml:4: action `a`: oozie.launcher.memory.mb has no effect",
        "app/workflow.xml:4: action `a`: oozie.launcher.mapreduce.map.memory.mb has no effect",
        "app/workflow.xml:11: action `m`: <config-class> is refused",
        "app/workflow.xml:11: action `m`: oozie.launcher.mapreduce.reduce.memory.mb has no effect",
    ];
    let dry = text(&ankus(folder.path(), &["run", "app", "--dry-run"]).output().expect("it runs"));
    let doctor = ankus(folder.path(), &["doctor", "app"]).output().expect("it runs");
    assert_eq!(doctor.status.code(), Some(1));
    let doctor = text(&doctor).split_whitespace().collect::<Vec<_>>().join(" ");
    for line in listed {
        assert!(dry.contains(line), "{line}: {dry}");
        assert!(doctor.contains(line), "{line}: {doctor}");
    }
    let run = ankus(folder.path(), &["run", "app", "--id", "x"]).output().expect("it runs");
    assert!(text(&run).contains(listed[3]), "{}", text(&run));
    // The list is not taken for the output of the program.
    let failing = WORKFLOW.replace("echo $A $B; ls", "exit 3");
    application(folder.path(), &[("fails/workflow.xml", &failing)]);
    let failed = text(&ankus(folder.path(), &["run", "fails"]).output().expect("it runs"));
    let message = "a: 1: the shell action's program ended with exit code 3\n";
    assert!(failed.contains(message), "{failed}");
    let log = |name: &str| {
        fs::read_to_string(folder.path().join(".ankus/jobs/x/a-0-1").join(name)).expect("a log")
    };
    assert!(log("stderr").contains("[<launcher>: vcores has no effect"), "{}", log("stderr"));
    assert!(log("stdout").starts_with("1 2"), "{}", log("stdout"));
}

/// Of several properties for the same thing, the first one counts, and the others are listed.
#[test]
fn older_names_of_a_property_that_is_set_are_listed() {
    let folder = tempfile::tempdir().expect("a folder");
    let property = |name: &str| {
        format!("<property><name>oozie.launcher.{name}</name><value>1</value></property>")
    };
    let names = [
        "mapreduce.map.memory.mb",
        "mapred.job.map.memory.mb",
        "mapred.child.env",
        "mapred.child.java.opts",
    ];
    let properties = names.map(property).concat();
    let head = "<resource-manager>rm</resource-manager><name-node>hdfs://nn</name-node>";
    let launcher = "<launcher><env>A=1</env></launcher>";
    let action = |name: &str, body: &str, to: &str| {
        format!("<action name='{name}'>{body}<ok to='{to}'/><error to='e'/></action>")
    };
    let configuration = format!("<configuration>{properties}</configuration>");
    let java = |options: &str| {
        format!("<java>{head}{launcher}{configuration}<main-class>A</main-class>{options}</java>")
    };
    let workflow = [
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='x'><start to='a'/>",
        &action("a", &java(""), "b"),
        &action("b", &java("<java-opts>-Da=b</java-opts>"), "e"),
        "<end name='e'/></workflow-app>",
    ];
    let settings = "[launchers.cluster]\nkind = \"yarn\"\nweb = \"http://rm:8088\"\n[launchers.java]\nlauncher = \"cluster\"\n";
    application(folder.path(), &[("app/workflow.xml", &workflow.concat()), ("own.toml", settings)]);
    let arguments = ["run", "app", "--dry-run", "--user-config", "own.toml"];
    let said = text(&ankus(folder.path(), &arguments).output().expect("it runs"));
    let lines: Vec<&str> = said.lines().filter(|line| line.contains("has no effect")).collect();
    let why = "another property is set that counts instead of it";
    for name in ["a", "b"] {
        for older in ["mapred.job.map.memory.mb", "mapred.child.env"] {
            let line = format!("action `{name}`: oozie.launcher.{older} has no effect: {why}");
            assert!(said.contains(&line), "{line}: {said}");
        }
    }
    let own = "action `b`: oozie.launcher.mapred.child.java.opts has no effect: the action has options of its own";
    assert!(said.contains(own), "{said}");
    assert_eq!(lines.len(), 5, "{said}");
}

/// A job asks for the share library, which no setting names, and for an uber jar, which streaming cannot use.
#[test]
fn what_a_job_asks_for_in_vain_is_listed_before_it_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let streaming = "<map-reduce><resource-manager>rm</resource-manager><name-node>hdfs://nn</name-node>\
        <streaming><mapper>cat</mapper></streaming><configuration>\
        <property><name>oozie.mapreduce.uber.jar</name><value>all.jar</value></property>\
        <property><name>oozie.use.system.libpath</name><value>true</value></property></configuration></map-reduce>";
    let workflow = format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='x'><start to='a'/><action name='a'>{streaming}<ok to='e'/><error to='k'/></action>\
         <kill name='k'><message>bad</message></kill><end name='e'/></workflow-app>"
    );
    application(folder.path(), &[("app/workflow.xml", &workflow)]);
    let listed = |more: &[&str]| {
        let arguments = [&["run", "app", "--dry-run"], more].concat();
        text(&ankus(folder.path(), &arguments).output().expect("it runs"))
    };
    let dry = listed(&["-D", "oozie.use.system.libpath=true"]);
    for line in [
        "\noozie.use.system.libpath has no effect: the program has the libraries of its own installation",
        "action `a`: oozie.use.system.libpath has no effect",
        "action `a`: oozie.mapreduce.uber.jar has no effect: jobs of streaming",
    ] {
        assert!(dry.contains(line), "{line}: {dry}");
    }
    let plain = workflow.replace("<streaming><mapper>cat</mapper></streaming>", "");
    application(folder.path(), &[("app/workflow.xml", &plain)]);
    let dry = listed(&["-D", "oozie.use.system.libpath=true"]);
    assert!(!dry.contains("has no effect"), "{dry}");
    application(folder.path(), &[("app/workflow.xml", &workflow)]);
    fs::write(folder.path().join("ankus.toml"), "[server]\nshare-lib = \"/share/lib\"\n")
        .expect("settings");
    let dry = listed(&[]);
    assert!(!dry.contains("libpath has no effect"), "{dry}");
}

/// Also under another name.
#[test]
fn a_secret_of_a_job_is_hidden_in_its_variables() {
    let folder = tempfile::tempdir().expect("a folder");
    application(folder.path(), &[("app/workflow.xml", &listing(""))]);
    let given = ["run", "app", "--id", "x", "-D", "dbPassword=pa55word"];
    let run = ankus(folder.path(), &given).env("JDBC", "jdbc:x?pw=pa55word").output();
    assert_eq!(run.expect("it runs").status.code(), Some(0));
    for format in ["human", "json"] {
        let show = ["job", "show", "x", "--environment", "--format", format];
        let shown = text(&ankus(folder.path(), &show).output().expect("it runs"));
        assert!(shown.contains("jdbc:x?pw=") && !shown.contains("pa55word"), "{shown}");
    }
}

/// A workflow whose only action lists its folder.
fn listing(configuration: &str) -> String {
    format!(
        "<workflow-app xmlns='uri:oozie:workflow:0.5' name='x'><start to='a'/>
  <action name='a'><shell xmlns='uri:oozie:shell-action:0.3'><job-tracker>rm:1</job-tracker>
    <name-node>hdfs://nn</name-node><configuration>{configuration}<property><name>n</name><value>1</value></property></configuration>
    <exec>ls</exec></shell><ok to='e'/><error to='k'/></action>
  <kill name='k'><message>bad</message></kill><end name='e'/></workflow-app>"
    )
}

fn property(name: &str, value: &str) -> String {
    format!("<property><name>{name}</name><value>{value}</value></property>")
}

fn listed(folder: &Path, job: &str) -> Vec<String> {
    let path = folder.join(format!(".ankus/jobs/{job}/a-0-1/stdout"));
    fs::read_to_string(path).expect("a list").lines().map(str::to_owned).collect()
}

/// An action has the values of `config-default.xml`, even if the job was submitted with others; expressions see the
/// job's values.
#[test]
fn an_action_has_the_defaults_of_its_application() {
    let folder = tempfile::tempdir().expect("a folder");
    let shell = "<shell xmlns='uri:oozie:shell-action:1.0'><resource-manager>rm</resource-manager><name-node>hdfs://nn</name-node>\
        <job-xml>own.xml</job-xml><exec>sh</exec><argument>-c</argument>\
        <argument>echo ${given}; cat $OOZIE_ACTION_CONF_XML</argument></shell>";
    let workflow = format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='x'><start to='a'/><action name='a'>{shell}<ok to='e'/><error to='k'/></action>\
         <kill name='k'><message>bad</message></kill><end name='e'/></workflow-app>"
    );
    let defaults = format!(
        "<configuration>{}{}{}</configuration>",
        property("given", "default"),
        property("left", "default"),
        property("made", "of-${given}")
    );
    let own = format!("<configuration>{}</configuration>", property("given", "file"));
    let files = [
        ("app/workflow.xml", workflow.as_str()),
        ("app/config-default.xml", &defaults),
        ("app/own.xml", &own),
    ];
    application(folder.path(), &files);
    let run = ankus(folder.path(), &["run", "app", "--id", "x", "-D", "given=submitted"]).output();
    let run = run.expect("it runs");
    assert_eq!(run.status.code(), Some(0), "{}", text(&run));
    let out = fs::read_to_string(folder.path().join(".ankus/jobs/x/a-0-1/stdout")).expect("output");
    assert!(out.starts_with("submitted\n"), "{out}");
    for (name, value) in [("given", "default"), ("left", "default"), ("made", "of-submitted")] {
        let stands = format!("<name>{name}</name><value>{value}</value>");
        assert!(out.contains(&stands), "{stands}: {out}");
    }
}

/// Missing files are listed, and an unreadable one is reported once, with the reason, also while it is retried.
#[test]
fn files_that_are_not_there_are_spoken_of() {
    let run = |inside: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        let workflow = format!(
            "<workflow-app xmlns='uri:oozie:workflow:1.0' name='x'><start to='a'/><action name='a'>\
             <shell xmlns='uri:oozie:shell-action:1.0'><resource-manager>rm</resource-manager><name-node>hdfs://nn</name-node>\
             {inside}</shell><ok to='e'/><error to='k'/></action><kill name='k'><message>bad</message></kill><end name='e'/></workflow-app>"
        );
        let files =
            [("app/workflow.xml", workflow.as_str()), ("app/broken.xml", "<configuration>")];
        application(folder.path(), &files);
        let said = |arguments: &[&str]| {
            let mut ankus = ankus(folder.path(), arguments);
            ankus.args([
                "-D",
                "oozie.wf.action.max.retries=1",
                "-D",
                "oozie.wf.action.retry.interval=1",
            ]);
            text(&ankus.output().expect("it runs"))
        };
        (said(&["run", "app", "--dry-run"]), said(&["run", "app", "--id", "x"]), folder)
    };
    let (dry, ran, folder) = run("<exec>true</exec><file></file><archive> , </archive>");
    for empty in ["an empty <file>", "an empty <archive>"] {
        let listed = format!("action `a`: {empty} has no effect: it names nothing");
        assert!(dry.contains(&listed), "{dry}");
    }
    assert!(ran.contains("SUCCEEDED"), "{ran}");
    let log = fs::read_to_string(folder.path().join(".ankus/jobs/x/a-0-1/stderr"));
    assert!(log.expect("a log").contains("an empty <file> has no effect"));

    let (_, ran, _) = run("<job-xml>${wf:conf('none')}</job-xml><exec>true</exec>");
    assert!(ran.contains("a: JA008: cannot read a job-xml: its path is empty"), "{ran}");
    let (_, ran, folder) = run("<job-xml>broken.xml</job-xml><exec>true</exec>");
    let why = "START_RETRY a (shell): JA009: the job-xml `hdfs://";
    assert!(ran.contains(why), "{ran}");
    let shown = text(&ankus(folder.path(), &["job", "show", "x"]).output().expect("it runs"));
    assert!(shown.contains("JA009: the job-xml") && !shown.contains("JA009: JA009"), "{shown}");
}

#[test]
fn the_share_library_is_brought() {
    let folder = tempfile::tempdir().expect("a folder");
    let on = property("oozie.use.system.libpath", "true");
    let named = property("oozie.action.sharelib.for.shell", "spark,none");
    let workflow = listing(&(on + &named));
    application(
        folder.path(),
        &[
            ("app/workflow.xml", &workflow),
            ("root/hdfs/nn/share/lib/lib_20200101000000/spark/old.jar", ""),
            ("root/hdfs/nn/share/lib/lib_20240101000000/spark/new.jar", ""),
            ("root/hdfs/nn/share/lib/lib_20240101000000/spark/guava.jar", ""),
            (
                "ankus.toml",
                "[server]\nshare-lib = \"hdfs://nn/share/lib\"\n[hosts]\n\"hdfs://nn\" = \"root/hdfs/nn\"\n",
            ),
        ],
    );
    let exclude = "oozie.action.sharelib.for.shell.exclude=spark/gu.*";
    let run = ankus(folder.path(), &["run", "app", "--id", "x", "-D", exclude]).output();
    let run = run.expect("it runs");
    assert_eq!(run.status.code(), Some(0), "{}", text(&run));
    assert_eq!(listed(folder.path(), "x"), ["new.jar"]);
    let log = fs::read_to_string(folder.path().join(".ankus/jobs/x/a-0-1/stderr")).expect("a log");
    assert!(log.contains("the share library") && log.contains("has no folder `none`"), "{log}");
}

#[test]
fn a_child_has_the_libraries_of_its_parents_if_it_is_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let parent = "<workflow-app xmlns='uri:oozie:workflow:0.5' name='p'><start to='c'/>
  <action name='c'><sub-workflow><app-path>${wf:appPath()}/child</app-path></sub-workflow><ok to='e'/><error to='k'/></action>
  <kill name='k'><message>bad</message></kill><end name='e'/></workflow-app>";
    application(
        folder.path(),
        &[
            ("app/workflow.xml", parent),
            ("app/lib/parent.jar", ""),
            ("app/child/workflow.xml", &listing("")),
            ("app/child/lib/child.jar", ""),
        ],
    );
    for (id, switch, found) in
        [("off", "false", vec!["child.jar"]), ("on", "true", vec!["child.jar", "parent.jar"])]
    {
        let switch = format!("oozie.wf.subworkflow.classpath.inheritance={switch}");
        let store = format!("store-{id}");
        let arguments = ["run", "app", "--id", id, "--store", &store, "-D", &switch];
        let run = ankus(folder.path(), &arguments).output().expect("it runs");
        assert_eq!(run.status.code(), Some(0), "{}", text(&run));
        let jobs = fs::read_dir(folder.path().join(&store).join("jobs")).expect("jobs");
        let lists = jobs.filter_map(|job| {
            fs::read_to_string(job.expect("a job").path().join("a-0-1/stdout")).ok()
        });
        let lists: Vec<String> = lists.collect();
        assert_eq!(lists.len(), 1, "{lists:?}");
        assert_eq!(lists[0].lines().collect::<Vec<_>>(), found, "{id}");
    }
}

#[test]
fn options_that_others_override_and_settings_that_no_server_takes_are_listed() {
    let cluster = "<resource-manager>rm</resource-manager><name-node>hdfs://nn</name-node>";
    let flow = format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='x'><start to='h'/>\n\
         <action name='h'><hive2 xmlns='uri:oozie:hive2-action:1.0'>{cluster}<configuration>{}{}</configuration>\
         <jdbc-url>jdbc:hive2://h:1/d</jdbc-url><query>select 1</query></hive2><ok to='d'/><error to='e'/></action>\n\
         <action name='d'><distcp xmlns='uri:oozie:distcp-action:1.0'>{cluster}<launcher><java-opts>-Xmx1g</java-opts></launcher>\
         <java-opts>-Da=b</java-opts><arg>/a</arg><arg>/b</arg></distcp><ok to='e'/><error to='e'/></action><end name='e'/></workflow-app>",
        property("hive.exec.parallel", "true"),
        property("oozie.own", "1"),
    );
    let folder = tempfile::tempdir().expect("a folder");
    application(folder.path(), &[("app/workflow.xml", &flow)]);
    let dry = text(&ankus(folder.path(), &["run", "app", "--dry-run"]).output().expect("it runs"));
    for line in [
        ":2: action `h`: hive.exec.parallel has no effect: like a server",
        ":3: action `d`: oozie.launcher.javaopts has no effect: the action has options of its own",
    ] {
        assert!(dry.contains(line), "{line}: {dry}");
    }
    assert!(!dry.contains("oozie.own"), "{dry}");
}

#[test]
fn a_launcher_that_no_server_takes_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, value, words) in [
        ("oozie.launcher.memory.mb", "0", "oozie.launcher.memory.mb must be greater than zero"),
        ("oozie.launcher.env", "A", "`A` is not NAME=VALUE"),
    ] {
        application(folder.path(), &[("app/workflow.xml", &listing(&property(name, value)))]);
        let run = ankus(folder.path(), &["run", "app"]).output().expect("it runs");
        assert_eq!(run.status.code(), Some(1), "{}", text(&run));
        let said = text(&run);
        assert!(said.contains("IllegalArgumentException") && said.contains(words), "{said}");
        let dry =
            text(&ankus(folder.path(), &["run", "app", "--dry-run"]).output().expect("it runs"));
        let listed = "action `a`: is refused with IllegalArgumentException: ";
        assert!(dry.contains(listed) && dry.contains(words), "{dry}");
    }
}

#[test]
fn git_clones_into_the_file_system_of_the_run() {
    let git = |folder: &Path, arguments: &[&str]| {
        let done = std::process::Command::new("git")
            .current_dir(folder)
            .args(["-c", "user.name=a", "-c", "user.email=a@b"])
            .args(arguments)
            .output();
        done.is_ok_and(|done| done.status.success())
    };
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("repository")).expect("a folder");
    let repository = folder.path().join("repository");
    if !git(&repository, &["init", "-q"]) {
        println!("skipped: there is no git here");
        return;
    }
    assert!(git(&repository, &["commit", "-q", "--allow-empty", "-m", "first"]));
    let workflow = format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='x'><start to='a'/>
  <action name='a'><git xmlns='uri:oozie:git-action:1.0'><resource-manager>rm:1</resource-manager><name-node>hdfs://nn</name-node>
    <git-uri>file://{}</git-uri><destination-uri>hdfs://nn/clones/one</destination-uri></git><ok to='e'/><error to='k'/></action>
  <kill name='k'><message>${{wf:errorMessage('a')}}</message></kill><end name='e'/></workflow-app>",
        repository.display()
    );
    application(folder.path(), &[("app/workflow.xml", &workflow)]);
    let run = ankus(folder.path(), &["run", "app", "--root", "root"]).output().expect("it runs");
    assert_eq!(run.status.code(), Some(0), "{}", text(&run));
    assert!(folder.path().join("root").join("clones/one/.git").is_dir());
}

/// Unreachable clusters, missing settings and unknown credentials: reported before the run, and in its log.
#[test]
fn what_an_action_names_in_vain_is_listed_before_it_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let shell = |name: &str, attributes: &str, inside: &str, next: &str| {
        format!(
            "\n<action name='{name}'{attributes}><shell xmlns='uri:oozie:shell-action:1.0'><resource-manager>rm</resource-manager>\
             <name-node>${{nameNode}}</name-node>{inside}</shell><ok to='{next}'/><error to='{next}'/></action>"
        )
    };
    let workflow = [
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='x'><credentials><credential name='meta' type='hcatalog'>\
         <property><name>a</name><value>b</value></property></credential></credentials><start to='far'/>"
            .to_owned(),
        shell(
            "far",
            "",
            "<prepare><delete path='${nameNode}/a'/><mkdir path='${archive}/a'/><mkdir path=\"${wf:conf('archive')}/b\"/></prepare>\
             <exec>true</exec>",
            "again",
        ),
        shell("again", "", "<prepare><mkdir path='hdfs://archive/c'/></prepare><exec>true</exec>", "gone"),
        shell("gone", "", "<job-xml>${site}.xml</job-xml><exec>true</exec>", "open"),
        shell("open", "", "<job-xml>conf/open.xml</job-xml><exec>true</exec>", "unknown"),
        shell("unknown", "", "<job-xml>${wf:conf('site')}.xml</job-xml><job-xml>hdfs://archive/site.xml</job-xml><exec>true</exec>", "typed"),
        shell("typed", " cred='meta'", "<exec>true</exec>", "named"),
        shell("named", " cred='store'", "<exec>true</exec>", "whole"),
        shell("whole", "", "<job-xml>${nameNode}/apps/x/conf/open.xml</job-xml><job-xml>/apps/x/no.xml</job-xml><exec>true</exec>", "post"),
        "\n<action name='post' cred='meta'><email xmlns='uri:oozie:email-action:0.2'><to>a@b.example</to><subject>s</subject>\
         <body>b</body></email><ok to='e'/><error to='e'/></action><end name='e'/></workflow-app>"
            .to_owned(),
    ]
    .concat();
    let properties = "nameNode=hdfs://main\narchive=hdfs://archive\nsite=conf/site\n\
        oozie.wf.application.path=${nameNode}/apps/x\n";
    application(
        folder.path(),
        &[
            ("app/workflow.xml", &workflow),
            ("app/conf/open.xml", "<configuration>"),
            ("app/job.properties", properties),
        ],
    );
    let said = |arguments: &[&str]| {
        let output = ankus(folder.path(), arguments).output().expect("it runs");
        text(&output).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for said in [said(&["run", "app", "--dry-run"]), said(&["doctor", "app"])] {
        for line in [
            ":2: action `far`: hdfs://archive is not reached: [hosts] does not name it",
            ":4: action `gone`: its job-xml `conf/site.xml` cannot be read: there is no such file in the application",
            ":5: action `open`: its job-xml `conf/open.xml` cannot be read: the root node",
            ":7: action `typed`: is refused with JA020: Could not load credentials of type [hcatalog]",
            ":8: action `named`: is refused with JA021",
            ":9: action `whole`: its job-xml `hdfs://main/apps/x/conf/open.xml` cannot be read: the root node",
            ":9: action `whole`: its job-xml `/apps/x/no.xml` cannot be read: there is no such file in the application",
            ":10: action `post`: cred=\"meta\" has no effect: a server has no credentials for email actions either",
        ] {
            assert!(said.contains(line), "{line}: {said}");
        }
        assert_eq!(said.matches("is not reached").count(), 1, "{said}");
        for path in ["${wf:conf('site')}.xml", "hdfs://archive/site.xml"] {
            let line = format!(
                ":6: action `unknown`: its job-xml `{path}` is read only when the action starts"
            );
            assert!(said.contains(&line), "{line}: {said}");
        }
    }
    said(&["run", "app", "--only", "far", "--id", "x"]);
    let log = fs::read_to_string(folder.path().join(".ankus/jobs/x/far-0-1/stderr"));
    let log = log.expect("a log");
    assert!(log.contains("[hdfs://archive is not reached: [hosts]"), "{log}");
    assert!(!log.contains("hdfs://main is not"), "{log}");
    // Once settings name it, it is reached.
    fs::write(folder.path().join("ankus.toml"), "[hosts]\n\"hdfs://archive\" = \"data\"\n")
        .expect("settings");
    assert!(!said(&["doctor", "app"]).contains("is not reached"));
    said(&["run", "app", "--only", "far", "--id", "y"]);
    let log = fs::read_to_string(folder.path().join(".ankus/jobs/y/far-0-1/stderr"));
    assert!(!log.unwrap_or_default().contains("is not reached"));
    assert!(folder.path().join("data/a").is_dir());
}

/// An `fs` action has no program whose `stderr` could report it.
#[test]
fn the_log_of_a_job_names_the_clusters_of_its_files_that_are_not_reached() {
    let folder = tempfile::tempdir().expect("a folder");
    let workflow = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='x'><start to='files'/><action name='files'><fs>\
        <name-node>hdfs://main</name-node><mkdir path='/a'/><mkdir path='${archive}/a'/><delete path='hdfs://archive/b'/>\
        <move source='hdfs://known/none' target='/none'/></fs><ok to='e'/><error to='e'/></action><end name='e'/></workflow-app>";
    application(
        folder.path(),
        &[
            ("app/workflow.xml", workflow),
            ("app/job.properties", "nameNode=hdfs://main\narchive=hdfs://archive\n"),
            ("ankus.toml", "[hosts]\n\"hdfs://known\" = \"data\"\n"),
        ],
    );
    let said =
        |arguments: &[&str]| text(&ankus(folder.path(), arguments).output().expect("it runs"));
    said(&["run", "app", "--id", "x"]);
    for log in [said(&["job", "log", "x"]), said(&["job", "log", "x", "--node", "files"])] {
        let notes: Vec<&str> = log.lines().filter(|it| it.contains("is not reached")).collect();
        let [note] = notes[..] else { panic!("one note: {log}") };
        assert!(note.contains(" WARN ") && note.contains("ACTION[x@files]"), "{log}");
        assert!(note.contains("hdfs://archive is not reached: [hosts] does not name it"), "{log}");
    }
}

/// The properties in the application's `spark-defaults.conf` can be overridden by the action and by its own properties
/// file.
#[test]
fn spark_takes_the_defaults_that_the_application_brings() {
    let folder = tempfile::tempdir().expect("a folder");
    let workflow = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='x'><start to='a'/><action name='a'>\
        <spark xmlns='uri:oozie:spark-action:1.0'><resource-manager>rm</resource-manager><name-node>hdfs://nn</name-node>\
        <configuration><property><name>spark.c</name><value>action</value></property></configuration>\
        <master>yarn</master><name>n</name><jar>sum.py</jar><spark-opts>--properties-file own.conf --conf spark.d=options</spark-opts>\
        <file>conf/spark-defaults.conf</file><file>own.conf</file></spark>\
        <ok to='e'/><error to='k'/></action><kill name='k'><message>bad</message></kill><end name='e'/></workflow-app>";
    application(
        folder.path(),
        &[
            ("app/workflow.xml", workflow),
            ("app/sum.py", ""),
            (
                "app/conf/spark-defaults.conf",
                "spark.a   defaults\nspark.b=defaults\nspark.c defaults\nspark.d defaults\nother x\n",
            ),
            ("app/own.conf", "spark.b own\n"),
        ],
    );
    let tool = folder.path().join("tool.sh");
    fs::write(&tool, "#!/bin/sh\nfor word; do echo \"$word\"; done\n").expect("a tool");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("a tool");
    let settings = format!("[tools]\nspark-submit = \"{}\"\n", tool.display());
    fs::write(folder.path().join("ankus.toml"), settings).expect("settings");
    let run = ankus(folder.path(), &["run", "app", "--id", "x"]).output().expect("it runs");
    assert_eq!(run.status.code(), Some(0), "{}", text(&run));
    let out = fs::read_to_string(folder.path().join(".ankus/jobs/x/a-0-1/stdout")).expect("output");
    let own = ["a", "b", "c", "d", "other"].map(|name| {
        let name = format!("spark.{name}=");
        out.lines().filter_map(|line| line.strip_prefix(&name)).collect::<Vec<_>>()
    });
    assert_eq!(own, [vec!["defaults"], vec![], vec!["action"], vec!["options"], vec![]], "{out}");
    assert!(out.contains("--properties-file\nown.conf\n"), "{out}");
}

/// The older name of the property also sets the job's name.
#[test]
fn a_job_has_the_name_that_its_action_gives_it() {
    let folder = tempfile::tempdir().expect("a folder");
    for (id, own) in [("own", Some("nightly")), ("none", None)] {
        let own = own.map(|name| property("mapred.job.name", name)).unwrap_or_default();
        let workflow = format!(
            "<workflow-app xmlns='uri:oozie:workflow:1.0' name='x'><start to='a'/><action name='a'>\
             <shell xmlns='uri:oozie:shell-action:1.0'><resource-manager>rm</resource-manager><name-node>hdfs://nn</name-node>\
             <configuration>{own}<property><name>b</name><value>c</value></property></configuration><exec>cat</exec>\
             <argument>../action.xml</argument></shell><ok to='e'/><error to='k'/></action>\
             <kill name='k'><message>bad</message></kill><end name='e'/></workflow-app>"
        );
        application(folder.path(), &[("app/workflow.xml", &workflow)]);
        let run = ankus(folder.path(), &["run", "app", "--id", id]).output().expect("it runs");
        assert_eq!(run.status.code(), Some(0), "{}", text(&run));
        let out = folder.path().join(format!(".ankus/jobs/{id}/a-0-1/stdout"));
        let out = fs::read_to_string(out).expect("output");
        assert_eq!(out.contains("<name>mapreduce.job.name</name>"), own.is_empty(), "{out}");
        assert_eq!(out.contains("<value>nightly</value>"), !own.is_empty(), "{out}");
    }
}

/// The applications that an application starts belong to it: its sub-workflows, and the workflows and data of a
/// coordinator.
#[test]
fn what_has_no_effect_in_what_an_application_starts_is_listed_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let of = |path: &str| {
        format!(
            "<workflow-app xmlns='uri:oozie:workflow:0.5' name='p'><start to='c'/>\
             <action name='c'><sub-workflow><app-path>{path}</app-path></sub-workflow><ok to='e'/><error to='e'/></action>\
             <end name='e'/></workflow-app>"
        )
    };
    let child = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='x'><start to='a'/>
      <action name='a'><shell xmlns='uri:oozie:shell-action:1.0'><resource-manager>rm</resource-manager><name-node>hdfs://nn</name-node>
      <launcher><vcores>2</vcores></launcher><exec>true</exec></shell><ok to='e'/><error to='e'/></action><end name='e'/></workflow-app>";
    let coordinator = "<coordinator-app xmlns='uri:oozie:coordinator:0.4' name='c' frequency='${coord:days(1)}' \
        start='2024-01-01T00:00Z' end='2024-01-02T00:00Z' timezone='UTC'><datasets><dataset name='d' frequency='${coord:days(1)}' \
        initial-instance='2024-01-01T00:00Z' timezone='UTC'><uri-template>hdfs://lake/d/${DAY}</uri-template></dataset></datasets>\
        <input-events><data-in name='i' dataset='d'><instance>${coord:current(0)}</instance></data-in></input-events>\
        <action><workflow><app-path>${nameNode}/apps/app</app-path></workflow></action></coordinator-app>";
    let (parent, child_of) = (of("${wf:appPath()}/child"), of("${nameNode}/apps/app/child/below"));
    application(
        folder.path(),
        &[
            ("apps/app/workflow.xml", parent.as_str()),
            ("apps/app/child/workflow.xml", child_of.as_str()),
            ("apps/app/child/below/workflow.xml", child),
            ("apps/daily/coordinator.xml", coordinator),
        ],
    );
    let below = "apps/app/child/below/workflow.xml:2: action `a`: <launcher>: vcores has no effect";
    let data = "apps/daily/coordinator.xml: hdfs://lake is not reached: [hosts] does not name it";
    for (path, lines) in [("apps/app", vec![below]), ("apps/daily", vec![below, data])] {
        for command in [vec!["doctor", path], vec!["run", path, "--dry-run"]] {
            let command = [command, vec!["-D", "nameNode=hdfs://nn"]].concat();
            let said = text(&ankus(folder.path(), &command).output().expect("it runs"));
            let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
            for line in &lines {
                assert!(said.contains(line), "{command:?}: {line}: {said}");
            }
            if command[0] == "doctor" {
                assert!(said.contains("(shell scripts)"), "{said}");
            }
        }
    }
}
