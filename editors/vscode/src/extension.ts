// Starts `ankus lsp`, shows its pictures, and runs `ankus` in a terminal when asked to. What is right and what is wrong in a
// definition, the server alone knows.

import { homedir } from "node:os";
import * as vscode from "vscode";
import { LanguageClient, State, type LanguageClientOptions, type ServerOptions } from "vscode-languageclient/node";
import { find } from "./find";
import { Panels, type Kind } from "./panel";

const INSTALL = "How to install it";
const SETTINGS = "Open the setting";
const ROOTS = /<(?:[\w.-]+:)?(workflow-app|coordinator-app|bundle-app)[\s>/]/;

/** What lives as long as the extension, whatever happens to the server. */
interface Session {
  context: vscode.ExtensionContext;
  output: vscode.LogOutputChannel;
  status: vscode.LanguageStatusItem;
  panels: Panels;
  watcher: vscode.FileSystemWatcher;
}

let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const output = vscode.window.createOutputChannel("ankus", { log: true });
  const status = vscode.languages.createLanguageStatusItem("ankus.status", selector());
  status.name = "ankus";
  const panels = new Panels(context.extensionUri, () => client);
  const watcher = vscode.workspace.createFileSystemWatcher("**/*.{xml,properties,toml}");
  const session: Session = { context, output, status, panels, watcher };
  const restart = async (): Promise<void> => {
    await stop();
    await start(session);
  };
  context.subscriptions.push(
    output,
    status,
    panels,
    watcher,
    vscode.commands.registerCommand("ankus.graph", (target?: unknown) => show(panels, "graph", target)),
    vscode.commands.registerCommand("ankus.timeline", (target?: unknown) => show(panels, "timeline", target)),
    vscode.commands.registerCommand("ankus.run", (target?: unknown) => execute(context, "run", target)),
    vscode.commands.registerCommand("ankus.test", (target?: unknown) => execute(context, "test", target)),
    vscode.commands.registerCommand("ankus.restart", restart),
    vscode.commands.registerCommand("ankus.log", () => output.show()),
    vscode.window.onDidChangeActiveTextEditor((editor) => offer(editor?.document)),
    vscode.workspace.onDidChangeTextDocument((event) => {
      if (event.document === vscode.window.activeTextEditor?.document) offer(event.document);
    }),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("ankus.path") || event.affectsConfiguration("ankus.arguments")) void restart();
      else if (event.affectsConfiguration("ankus") && client?.isRunning()) {
        // The server asks for what it needs.
        void client.sendNotification("workspace/didChangeConfiguration", { settings: null });
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
  );
  offer(vscode.window.activeTextEditor?.document);
  await start(session);
}

export async function deactivate(): Promise<void> {
  await stop();
}

/** Texts that the server is told of. It looks at the root of each and is silent about what is not Oozie's. */
function selector(): { scheme: string; language?: string; pattern?: string }[] {
  return ["file", "untitled"].flatMap((scheme) => [
    { scheme, language: "xml" },
    { scheme, language: "properties" },
    { scheme, pattern: "**/{ankus.toml,*.properties,*.scenario.toml}" },
  ]);
}

/** The buttons that a text has: which picture there is of it depends on its root element. */
function offer(document: vscode.TextDocument | undefined): void {
  const root = document?.languageId === "xml" ? ROOTS.exec(document.getText())?.[1] : undefined;
  void vscode.commands.executeCommand("setContext", "ankus.hasGraph", root !== undefined);
  void vscode.commands.executeCommand("setContext", "ankus.hasTimeline", root !== undefined && root !== "workflow-app");
}

/** What the server is told of the settings. What a folder that is not trusted says of its check does not count. */
function preferences(): Record<string, unknown> {
  const settings = vscode.workspace.getConfiguration("ankus");
  return {
    profile: settings.get<string | null>("profile", null),
    target: settings.get<string | null>("target", null),
    properties: settings.get<string[]>("properties", []),
    isolated: settings.get("isolated", false) || !vscode.workspace.isTrusted,
    workspaceDiagnostics: settings.get("workspaceDiagnostics", true),
  };
}

function program(context: vscode.ExtensionContext): ReturnType<typeof find> {
  return find({
    setting: vscode.workspace.getConfiguration("ankus").get("path", ""),
    extension: context.extensionPath,
    path: process.env["PATH"] ?? "",
    home: homedir(),
    windows: process.platform === "win32",
  });
}

async function missing(looked: string[], output: vscode.LogOutputChannel): Promise<void> {
  output.error(`The program ankus is not at any of: ${looked.join(", ")}`);
  const one = looked.length === 1 ? `: there is no program at ${looked[0]}` : "";
  const answer = await vscode.window.showErrorMessage(`The program ankus was not found${one}.`, INSTALL, SETTINGS);
  if (answer === INSTALL) {
    await vscode.commands.executeCommand("extension.open", "ankus.ankus");
  } else if (answer === SETTINGS) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "ankus.path");
  }
}

async function start({ context, output, status, panels, watcher }: Session): Promise<void> {
  const found = program(context);
  const command = { title: "Log", command: "ankus.log" };
  if ("looked" in found) {
    status.text = "ankus: not found";
    status.severity = vscode.LanguageStatusSeverity.Error;
    status.command = command;
    void missing(found.looked, output);
    return;
  }
  const given = vscode.workspace.getConfiguration("ankus").get<string[]>("arguments", []);
  const server: ServerOptions = { command: found.program, args: ["lsp", ...given] };
  const options: LanguageClientOptions = {
    documentSelector: selector(),
    outputChannel: output,
    initializationOptions: preferences(),
    middleware: { workspace: { configuration: ({ items }) => items.map(() => preferences()) } },
    synchronize: { fileEvents: watcher },
  };
  client = new LanguageClient("ankus", "ankus", server, options);
  client.onDidChangeState(({ newState }) => {
    status.busy = newState === State.Starting;
    status.text = newState === State.Running ? "ankus" : newState === State.Starting ? "ankus: starting" : "ankus: stopped";
    status.severity = newState === State.Stopped ? vscode.LanguageStatusSeverity.Error : vscode.LanguageStatusSeverity.Information;
    status.detail = found.program;
    status.command = newState === State.Stopped ? { title: "Restart", command: "ankus.restart" } : command;
    if (newState === State.Running) panels.redraw();
  });
  try {
    await client.start();
  } catch (error) {
    output.error(`The language server did not start: ${error instanceof Error ? error.message : String(error)}`);
    status.severity = vscode.LanguageStatusSeverity.Error;
    status.text = "ankus: did not start";
    status.command = command;
  }
}

async function stop(): Promise<void> {
  const old = client;
  client = undefined;
  // A server that has died is stopped already.
  if (old?.isRunning()) await old.stop().catch(() => undefined);
}

/** The text that a command is about: a lens names it, the palette means the active one. */
async function target(argument: unknown): Promise<vscode.TextDocument | undefined> {
  const uri = typeof argument === "string" ? vscode.Uri.parse(argument) : argument instanceof vscode.Uri ? argument : undefined;
  if (uri !== undefined) return vscode.workspace.openTextDocument(uri);
  const document = vscode.window.activeTextEditor?.document;
  if (document === undefined) void vscode.window.showInformationMessage("Open a workflow, coordinator or bundle first.");
  return document;
}

async function show(panels: Panels, kind: Kind, argument: unknown): Promise<void> {
  const document = await target(argument);
  if (document !== undefined) panels.show(kind, document);
}

/** Runs `ankus` as a task, so that its output stands in a terminal and it ends with a key. No shell reads the path. */
async function execute(context: vscode.ExtensionContext, verb: "run" | "test", argument: unknown): Promise<void> {
  if (!vscode.workspace.isTrusted) {
    void vscode.window.showWarningMessage(`\`ankus ${verb}\` starts programs of the application: trust the workspace first.`);
    return;
  }
  const document = await target(argument);
  const found = program(context);
  if (document === undefined || "looked" in found) return;
  if (document.isUntitled) {
    void vscode.window.showInformationMessage("Save the definition first: it runs as it is on disk.");
    return;
  }
  if (document.isDirty) await document.save();
  const folder = vscode.workspace.getWorkspaceFolder(document.uri);
  const title = `${verb} ${vscode.workspace.asRelativePath(document.uri)}`;
  const task = new vscode.Task(
    { type: "ankus", verb },
    folder ?? vscode.TaskScope.Workspace,
    title,
    "ankus",
    new vscode.ProcessExecution(found.program, [verb, document.uri.fsPath]),
  );
  task.presentationOptions = { reveal: vscode.TaskRevealKind.Always, panel: vscode.TaskPanelKind.Dedicated };
  await vscode.tasks.executeTask(task);
}
