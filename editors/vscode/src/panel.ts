// A picture beside its text: a node that is clicked is shown in the text, and the node at the cursor is marked.

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { page } from "./page";

/** What the server answers to `ankus/graph` and `ankus/timeline`. */
export interface Picture {
  svg: string;
  nodes?: { id: string; uri?: string; range: Range }[];
  current?: string;
  path?: string[];
}

interface Range {
  start: { line: number; character: number };
  end: { line: number; character: number };
}

export type Kind = "graph" | "timeline";

const TITLES: Record<Kind, string> = { graph: "Graph", timeline: "Timeline" };

export class Panels implements vscode.Disposable {
  private readonly panels = new Map<string, Panel>();
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly extension: vscode.Uri,
    private readonly client: () => LanguageClient | undefined,
  ) {
    this.subscriptions = [
      vscode.workspace.onDidChangeTextDocument((event) => this.of(event.document)?.redraw()),
      vscode.window.onDidChangeTextEditorSelection((event) => this.of(event.textEditor.document)?.redraw()),
    ];
  }

  /** Shows the picture of a text, in the panel that it has already if it has one. */
  show(kind: Kind, document: vscode.TextDocument): void {
    const key = `${kind} ${document.uri}`;
    const old = this.panels.get(key);
    if (old !== undefined) {
      old.reveal();
      return;
    }
    const panel = new Panel(kind, document.uri, this.extension, this.client);
    this.panels.set(key, panel);
    panel.onClosed(() => this.panels.delete(key));
  }

  /** After a restart of the server. */
  redraw(): void {
    for (const panel of this.panels.values()) panel.redraw();
  }

  private of(document: vscode.TextDocument): { redraw(): void } | undefined {
    const panels = (["graph", "timeline"] as const).flatMap((kind) => this.panels.get(`${kind} ${document.uri}`) ?? []);
    return panels.length === 0 ? undefined : { redraw: () => panels.forEach((panel) => panel.redraw()) };
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
    for (const panel of [...this.panels.values()]) panel.close();
  }
}

class Panel {
  private readonly view: vscode.WebviewPanel;
  private picture: Picture | undefined;
  private shown = "";
  private isAsking = false;
  private isStale = false;
  private isReady = false;

  constructor(
    private readonly kind: Kind,
    private readonly uri: vscode.Uri,
    extension: vscode.Uri,
    private readonly client: () => LanguageClient | undefined,
  ) {
    const media = vscode.Uri.joinPath(extension, "media");
    const title = `${TITLES[kind]}: ${vscode.workspace.asRelativePath(uri)}`;
    const beside = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    this.view = vscode.window.createWebviewPanel(`ankus.${kind}`, title, beside, {
      enableScripts: true,
      localResourceRoots: [media],
      retainContextWhenHidden: true,
    });
    const { webview } = this.view;
    webview.onDidReceiveMessage((message: { type: string; node?: string }) => {
      if (message.type === "ready") {
        this.isReady = true;
        this.redraw();
      } else if (message.type === "open" && message.node !== undefined) {
        void this.open(message.node);
      }
    });
    const resource = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(media, name)).toString();
    webview.html = page(title, {
      source: webview.cspSource,
      script: resource("panel.js"),
      style: resource("panel.css"),
    });
  }

  onClosed(act: () => void): void {
    this.view.onDidDispose(act);
  }

  close(): void {
    this.view.dispose();
  }

  reveal(): void {
    this.view.reveal(undefined, true);
  }

  /** Asks for the picture as the text is now. While an answer is awaited, what happens is asked for once, after it. */
  redraw(): void {
    this.isStale = true;
    if (!this.isAsking && this.isReady) void this.ask();
  }

  private async ask(): Promise<void> {
    this.isAsking = true;
    try {
      while (this.isStale) {
        this.isStale = false;
        const client = this.client();
        if (client === undefined || !client.isRunning()) {
          this.say("The language server is not running.");
          return;
        }
        const position = this.editor()?.selection.active;
        const picture = await client.sendRequest<Picture | null>(`ankus/${this.kind}`, {
          textDocument: { uri: client.code2ProtocolConverter.asUri(this.uri) },
          ...(position === undefined ? {} : { position: client.code2ProtocolConverter.asPosition(position) }),
        });
        if (picture === null) this.say(`There is no ${this.kind} of this text.`);
        else this.draw(picture);
      }
    } catch (error) {
      this.say(error instanceof Error ? error.message : String(error));
    } finally {
      this.isAsking = false;
    }
  }

  private draw(picture: Picture): void {
    this.picture = picture;
    const { current, path } = picture;
    // A cursor that moves changes no picture, so only the mark is sent.
    if (picture.svg === this.shown) {
      void this.view.webview.postMessage({ type: "mark", current, path });
    } else {
      this.shown = picture.svg;
      void this.view.webview.postMessage({ type: "picture", svg: picture.svg, current, path });
    }
  }

  private say(text: string): void {
    void this.view.webview.postMessage({ type: "message", text });
  }

  private editor(): vscode.TextEditor | undefined {
    return vscode.window.visibleTextEditors.find((editor) => editor.document.uri.toString() === this.uri.toString());
  }

  private async open(id: string): Promise<void> {
    const client = this.client();
    const node = this.picture?.nodes?.find((node) => node.id === id);
    if (node === undefined || client === undefined) return;
    const uri = node.uri === undefined ? this.uri : client.protocol2CodeConverter.asUri(node.uri);
    const { start, end } = node.range;
    const range = new vscode.Range(start.line, start.character, end.line, end.character);
    const document = await vscode.workspace.openTextDocument(uri);
    const column = this.editor()?.viewColumn ?? vscode.ViewColumn.One;
    const editor = await vscode.window.showTextDocument(document, { viewColumn: column });
    editor.selection = new vscode.Selection(range.start, range.start);
    editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }
}
