//! What other users of the same machine can see of a run and do to it, and what a workflow can reach: nothing that was
//! not granted.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::run::{BINARY, ankus, application, shell, text};

const NOBODY: u32 = 65_534;

/// Runs the binary with a umask of 000.
fn lax(folder: &Path, arguments: &str) -> Output {
    let command = format!("umask 000; exec \"$0\" {arguments}");
    let mut shell = Command::new("sh");
    shell.args(["-c", &command, BINARY]).current_dir(folder).env_remove("ANKUS_STORE");
    shell.output().expect("a shell")
}

/// Runs a command as the user `nobody`; none if we cannot change the user.
fn as_nobody(arguments: &[&str]) -> Option<Output> {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).args(arguments);
    let can = is_root() && Command::new("setpriv").arg("--version").output().is_ok();
    if !can {
        println!("skipped: only root with `setpriv` can try it as another user");
        return None;
    }
    Some(command.env_remove("ANKUS_STORE").output().expect("it runs"))
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|found| found.uid() == 0)
}

/// Every file and folder below a folder, without following links.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    let mut next = 0;
    while let Some(path) = found.get(next).cloned() {
        next += 1;
        if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            let entries = fs::read_dir(&path).expect("a folder");
            found.extend(entries.map(|entry| entry.expect("an entry").path()));
        }
    }
    found
}

/// A folder that everyone can read, with a workflow whose program prints its password.
fn open_place() -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a folder");
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).expect("permissions");
    let body = shell("one", "end");
    let workflow = format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='a'><global>\
         <resource-manager>rm</resource-manager><name-node>hdfs://nn</name-node></global><start to='one'/>{body}\
         <kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>"
    );
    application(
        place.path(),
        &[
            ("app/workflow.xml", &workflow),
            ("app/step.sh", "#!/bin/sh\necho key=hunter22\n"),
            ("app/job.properties", "db.password=hunter22\n"),
        ],
    );
    place
}

#[test]
fn a_store_is_of_its_user_alone_whatever_the_umask() {
    let place = open_place();
    let ran = lax(place.path(), "run app");
    assert!(ran.status.success(), "{}", text(&ran));

    let store = place.path().join(".ankus");
    let attempt = |path: &Path| path.components().any(|part| part.as_os_str() == "work");
    for path in below(&store) {
        let found = path.symlink_metadata().expect("it is there");
        // Below the folder of the program's own files, the permissions are the program's choice.
        if !found.is_symlink() && !attempt(&path) && !path.ends_with("root") {
            assert_eq!(found.mode() & 0o077, 0, "{} {:o}", path.display(), found.mode());
        }
    }

    let Some(_) = as_nobody(&["true"]) else { return };
    for path in below(&store) {
        let path = path.to_str().expect("a path");
        for command in [
            &["cat", path][..],
            &["ls", path],
            &["flock", "-n", path, "true"],
            &["flock", "-sn", path, "true"],
        ] {
            let tried = as_nobody(command).expect("it was tried");
            assert!(!tried.status.success(), "nobody can {command:?}");
            assert!(!text(&tried).contains("hunter22"), "{command:?}");
        }
    }
    // Other users get a message, and no store of theirs takes its place.
    let place = place.path().join(".ankus");
    let list = as_nobody(&[BINARY, "job", "list", "--store", place.to_str().expect("a path")]);
    let list = list.expect("it was tried");
    assert_eq!(list.status.code(), Some(2), "{}", text(&list));
}

#[test]
fn a_store_of_somebody_else_is_refused_and_an_old_one_closed() {
    let place = open_place();
    let run = |id: &str| {
        let ran = ankus(place.path(), &["run", "app", "--id", id]).output().expect("it runs");
        (ran.status.code(), text(&ran))
    };
    let (code, said) = run("first");
    assert_eq!(code, Some(0), "{said}");
    let store = place.path().join(".ankus");
    let files = ["store.sqlite", "store.sqlite.lock", "audit.log"].map(|name| store.join(name));
    let set = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
    };

    // With the permissions of former versions.
    set(&store, 0o755);
    files.iter().for_each(|file| set(file, 0o644));
    let (code, said) = run("second");
    assert_eq!(code, Some(0), "{said}");
    for path in files.iter().chain([&store]) {
        let mode = fs::metadata(path).expect("it is there").mode();
        assert_eq!(mode & 0o077, 0, "{} {mode:o}", path.display());
    }

    set(&store, 0o777);
    let (code, said) = run("third");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("chmod -R go-rwx .ankus"), "{said}");
    set(&store, 0o700);

    if !is_root() {
        println!("skipped: only root can give a store away");
        return;
    }
    chown(&store, Some(NOBODY), None).expect("another owner");
    for arguments in [
        &["run", "app"][..],
        &["job", "list"],
        &["job", "show", "first"],
        &["job", "kill", "first"],
    ] {
        let said = ankus(place.path(), arguments).output().expect("it runs");
        assert_eq!(said.status.code(), Some(2), "{arguments:?}");
        assert!(text(&said).contains("belongs to another user"), "{}", text(&said));
    }
}

/// Passwords under a telling name, in the options of a URL, in a URL itself, and printed by a failing program.
#[test]
fn no_output_has_a_secret() {
    let place = tempfile::tempdir().expect("a folder");
    let body = "<action name='one'><shell xmlns='uri:oozie:shell-action:1.0'><exec>step.sh</exec>\
                <argument>${dbUrl}</argument><env-var>API=${apiUrl}</env-var><file>step.sh</file><capture-output/></shell>\
                <ok to='end'/><error to='bad'/></action>";
    let workflow = format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='a'><global><resource-manager>rm</resource-manager>\
         <name-node>hdfs://nn</name-node></global><start to='one'/>{body}\
         <kill name='bad'><message>failed with ${{dbUrl}} and ${{sitePin}}</message></kill><end name='end'/></workflow-app>"
    );
    let properties = "dbUrl=jdbc:mysql://h/d?user=u&password=topsecret1\napiUrl=https://ann:topsecret2@h/x\n\
                      db.password=topsecret3\nsitePin=topsecret4\noozie.wf.workflow.notification.url=http://u:topsecret5@127.0.0.1:1/x\n";
    application(
        place.path(),
        &[
            ("ankus.toml", "[secrets]\nnames = [\"sitePin\"]\n"),
            ("app/workflow.xml", &workflow),
            (
                "app/step.sh",
                "#!/bin/sh\necho \"url=$1 $API\"\necho topsecret3 and topsecret4 >&2\nexit 1\n",
            ),
            ("app/job.properties", properties),
        ],
    );
    let mut seen = 0;
    for (arguments, code) in [
        (&["run", "app", "--dry-run"][..], 0),
        (&["params", "app"], 0),
        (&["params", "app", "--format", "json"], 0),
        (&["run", "app", "--id", "one"], 1),
        (&["run", "app", "--id", "two", "--format", "json"], 1),
        (&["run", "app", "--id", "three", "--format", "jsonl"], 1),
        (&["job", "show", "one"], 0),
        (&["job", "show", "one", "--format", "json"], 0),
        (&["job", "log", "one"], 0),
        (&["job", "log", "one", "--audit"], 0),
        (&["job", "list"], 0),
    ] {
        let output = ankus(place.path(), arguments).output().expect("it runs");
        let said = text(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(!said.contains("topsecret"), "{arguments:?}: {said}");
        seen += usize::from(said.contains("***"));
    }
    assert!(seen >= 6, "masked in {seen} outputs");
}

/// A workflow may contain passwords itself, or pass them to a program under another name than the properties have.
#[test]
fn programs_tell_no_secret_that_the_workflow_gives_them() {
    let place = tempfile::tempdir().expect("a folder");
    let workflow = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='a'><global><resource-manager>rm</resource-manager>\
        <name-node>hdfs://nn</name-node></global><start to='one'/><action name='one'><shell xmlns='uri:oozie:shell-action:1.0'>\
        <configuration><property><name>db.password</name><value>topsecret1</value></property></configuration><exec>step.sh</exec>\
        <argument>--password</argument><argument>topsecret2</argument><env-var>DB_PASSWORD=topsecret3 &amp; topsecret4</env-var>\
        <env-var>API_TOKEN=${other}</env-var><file>step.sh</file></shell><ok to='end'/><error to='bad'/></action>\
        <kill name='bad'><message>${wf:errorMessage('one')}</message></kill><end name='end'/></workflow-app>";
    let script = "#!/bin/sh\necho \"$2, $DB_PASSWORD, $API_TOKEN, topsecret1\" >&2\nexit 1\n";
    // The configuration of an action is stored in another place than the rest of the action.
    let configuration = "<configuration><property><name>db.password</name><value>topsecret1</value></property></configuration>";
    let without = workflow.replacen(configuration, "", 1).replacen("name='a'>", "name='child'>", 1);
    let caller = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='c'><start to='one'/><action name='one'><sub-workflow>\
        <app-path>hdfs://nn/without</app-path><propagate-configuration/></sub-workflow><ok to='end'/><error to='bad'/></action>\
        <kill name='bad'><message>${wf:errorMessage('one')}</message></kill><end name='end'/></workflow-app>";
    application(
        place.path(),
        &[
            ("app/workflow.xml", workflow),
            ("app/step.sh", script),
            ("app/job.properties", "other=topsecret5\n"),
            ("root/without/workflow.xml", &without),
            ("root/without/step.sh", &script.replace(", topsecret1", ", ***")),
            ("root/caller/workflow.xml", caller),
        ],
    );
    for arguments in [
        &["run", "app", "--id", "one"][..],
        &["run", "app", "--id", "two", "--format", "json"],
        &["job", "show", "one"],
        &["job", "show", "one", "--format", "json"],
        &["job", "show", "one@one"],
        &["job", "log", "one"],
    ] {
        let said = text(&ankus(place.path(), arguments).output().expect("it runs"));
        assert!(!said.contains("topsecret"), "{arguments:?}: {said}");
        assert!(said.contains("***, ***, ***, ***"), "{arguments:?}: {said}");
    }

    let caller = ["run", "root/caller", "--root", "root", "-P", "app/job.properties"];
    let said = text(&ankus(place.path(), &caller).output().expect("it runs"));
    assert!(!said.contains("topsecret") && said.contains("***, ***, ***, ***"), "{said}");
    let listed = text(&ankus(place.path(), &["job", "list"]).output().expect("it runs"));
    let child = listed.lines().find(|line| line.ends_with("  child")).expect("it is listed");
    let child = child.split_whitespace().nth(2).expect("its id");
    for arguments in [
        &["job", "show", child][..],
        &["job", "show", child, "--format", "json"],
        &["job", "log", child],
    ] {
        let said = text(&ankus(place.path(), arguments).output().expect("it runs"));
        assert!(!said.contains("topsecret"), "{arguments:?}: {said}");
        assert!(said.contains("***, ***, ***, ***"), "{arguments:?}: {said}");
    }
}

/// Lines with properties are drawn without the values; other property names, switches and blanks reveal nothing.
#[test]
fn lines_of_properties_show_no_values() {
    let place = tempfile::tempdir().expect("a folder");
    let workflow = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='w'><start to='a'/><action name='a'><fs>\
        <mkdir path='${nn}/${queueName}/${mode}'/></fs><ok to='end'/><error to='end'/></action><end name='end'/></workflow-app>";
    let properties = "nn=hdfs://${hsot}:8020/warehouse\nqueueName=nightly \nmode=true\nmode = false\nhost=h\n\
        oozie.wf.application.path=${nn}/app\n";
    application(
        place.path(),
        &[("app/workflow.xml", workflow), ("app/job.properties", properties)],
    );
    let said = text(&ankus(place.path(), &["check", "app"]).output().expect("it runs"));
    for drawn in ["nn=***${hsot}***\n", "queueName=*** \n", "mode=true\n", "mode = false\n"] {
        assert!(said.contains(drawn), "{drawn}: {said}");
    }
    for value in ["8020", "warehouse", "nightly"] {
        assert!(!said.contains(value), "{value}: {said}");
    }
}

/// Operations that would leave the file root, over links and over `file:`; nothing outside changes, and each reports
/// the reason.
#[test]
fn a_workflow_reaches_nothing_outside_its_file_systems() {
    let place = tempfile::tempdir().expect("a folder");
    let outside = place.path().join("outside");
    application(
        place.path(),
        &[("outside/keep/secret", "mine"), ("root/in/data", "x"), ("root/tree/a/b", "y")],
    );
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o750)).expect("permissions");
    fs::set_permissions(outside.join("keep/secret"), fs::Permissions::from_mode(0o640))
        .expect("permissions");
    for link in ["root/out", "root/tree/out"] {
        std::os::unix::fs::symlink(&outside, place.path().join(link)).expect("a link");
    }
    std::os::unix::fs::symlink("../../outside", place.path().join("root/tree/up")).expect("a link");
    let here = place.path().display().to_string();
    let run = |id: &str, operations: &str| {
        let workflow = format!(
            "<workflow-app xmlns='uri:oozie:workflow:1.0' name='a'><start to='one'/><action name='one'><fs>{operations}</fs>\
             <ok to='end'/><error to='bad'/></action><kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>"
        );
        application(place.path(), &[("app/workflow.xml", &workflow)]);
        let ran = ankus(place.path(), &["run", "app", "--root", "root", "--id", id]).output();
        let ran = ran.expect("it runs");
        (ran.status.code(), text(&ran))
    };
    let attacks = [
        "<delete path='hdfs://nn/out/keep'/>".to_owned(),
        "<mkdir path='hdfs://nn/out/new'/>".to_owned(),
        "<touchz path='hdfs://nn/out/keep/new'/>".to_owned(),
        "<move source='hdfs://nn/in/data' target='hdfs://nn/out/keep/data'/>".to_owned(),
        "<move source='hdfs://nn/out/keep' target='hdfs://nn/taken'/>".to_owned(),
        "<chmod path='hdfs://nn/out' permissions='777' dir-files='true'><recursive/></chmod>"
            .to_owned(),
        "<chmod path='hdfs://nn/tree/up/keep' permissions='777' dir-files='true'/>".to_owned(),
        format!("<delete path='file://{here}/outside/keep'/>"),
        format!(
            "<chmod path='file://{here}/outside' permissions='777' dir-files='true'><recursive/></chmod>"
        ),
    ];
    for (number, attack) in attacks.iter().enumerate() {
        let (code, said) = run(&format!("attack-{number}"), attack);
        assert_eq!(code, Some(1), "{attack}: {said}");
        let is_told = said.contains("leads out")
            || said.contains("symbolic link")
            || said.contains("[hosts] \"file://\"");
        assert!(is_told, "{attack}: {said}");
    }
    // Operations on the tree itself are performed, without following links; of a link, only the link is deleted.
    let well = "<chmod path='hdfs://nn/tree' permissions='711' dir-files='true'><recursive/></chmod>\
                <delete path='hdfs://nn/out'/><delete path='hdfs://nn/tree'/>";
    let (code, said) = run("well", well);
    assert_eq!(code, Some(0), "{said}");
    assert!(!place.path().join("root/tree").exists() && !place.path().join("root/out").exists());
    // The local file system can be used as far as the settings allow it.
    let settings = format!("[hosts]\n\"file://\" = \"{here}/outside/own\"\n");
    application(place.path(), &[("ankus.toml", &settings)]);
    let (code, said) = run("own", &format!("<mkdir path='file://{here}/outside/own/deep'/>"));
    assert_eq!(code, Some(0), "{said}");
    let (code, said) =
        run("beside", &format!("<delete path='file://{here}/outside/own/../keep'/>"));
    assert_eq!(code, Some(1), "{said}");

    assert!(outside.join("own/deep").is_dir());
    assert_eq!(fs::read_to_string(outside.join("keep/secret")).expect("it is there"), "mine");
    for (path, mode) in [(outside.clone(), 0o750), (outside.join("keep/secret"), 0o640)] {
        assert_eq!(
            fs::metadata(&path).expect("it is there").mode() & 0o777,
            mode,
            "{}",
            path.display()
        );
    }
    assert!(place.path().join("root/in/data").is_file());
    assert_eq!(fs::read_dir(outside.join("keep")).expect("a folder").count(), 1);
}
