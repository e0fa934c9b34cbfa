// The messages of the extension's client library to the real server, which `ANKUS` names.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";
import { createProtocolConnection, StreamMessageReader, StreamMessageWriter } from "vscode-languageserver-protocol/node";

const { ANKUS } = process.env;
const WORKFLOW = `<workflow-app xmlns="uri:oozie:workflow:1.0" name="nightly">
  <start to="claen"/>
  <action name="clean">
    <fs><mkdir path="\${nameNode}/out"/></fs>
    <ok to="done"/>
    <error to="done"/>
  </action>
  <end name="done"/>
</workflow-app>
`;

test("a session", { skip: ANKUS ? false : "ANKUS names no program" }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "ankus-session-"));
  const file = join(folder, "workflow.xml");
  writeFileSync(file, WORKFLOW);
  writeFileSync(join(folder, "job.properties"), "nameNode=hdfs://nn\n");
  const uri = pathToFileURL(file).toString();
  const server = spawn(ANKUS, ["lsp"], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise((end) => server.on("exit", end));
  const connection = createProtocolConnection(new StreamMessageReader(server.stdout), new StreamMessageWriter(server.stdin));
  const waiting = [];
  connection.onNotification("textDocument/publishDiagnostics", (published) => {
    for (const one of [...waiting]) if (one.is(published)) waiting.splice(waiting.indexOf(one), 1), one.end(published);
  });
  connection.onRequest("client/registerCapability", () => null);
  connection.onRequest("workspace/configuration", ({ items }) => items.map(() => null));
  connection.onRequest("window/workDoneProgress/create", () => null);
  connection.listen();
  const published = (is) => new Promise((end) => waiting.push({ is: (one) => one.uri === uri && is(one.diagnostics), end }));

  const found = published((diagnostics) => diagnostics.some(({ message }) => message.includes("claen")));
  const { capabilities } = await connection.sendRequest("initialize", {
    processId: process.pid,
    rootUri: null,
    workspaceFolders: [{ uri: pathToFileURL(folder).toString(), name: "one" }],
    capabilities: {},
  });
  assert.ok(capabilities.completionProvider && capabilities.renameProvider && capabilities.hoverProvider);
  await connection.sendNotification("initialized", {});
  await connection.sendNotification("textDocument/didOpen", { textDocument: { uri, languageId: "xml", version: 1, text: WORKFLOW } });
  const [{ range }] = (await found).diagnostics.filter(({ message }) => message.includes("claen"));
  assert.equal(range.start.line, 1);

  const gone = published((diagnostics) => diagnostics.every(({ message }) => !message.includes("claen")));
  await connection.sendNotification("textDocument/didChange", { textDocument: { uri, version: 2 }, contentChanges: [{ range, text: "clean" }] });
  await gone;
  const at = { textDocument: { uri }, position: range.start };
  const completion = await connection.sendRequest("textDocument/completion", at);
  const labels = (completion.items ?? completion).map(({ label }) => label);
  assert.ok(labels.includes("clean") && labels.includes("done"), labels.join());
  const edit = await connection.sendRequest("textDocument/rename", { ...at, newName: "tidy" });
  const edits = edit.changes?.[uri] ?? edit.documentChanges?.flatMap(({ edits }) => edits);
  assert.equal(edits.length, 2);
  const picture = await connection.sendRequest("ankus/graph", at);
  assert.ok(picture.svg.includes('data-node="clean"'));
  assert.equal(picture.current, ":start:");
  await connection.sendRequest("shutdown");
  await connection.sendNotification("exit");
  assert.equal(await ended, 0);
  rmSync(folder, { recursive: true, force: true });
});
