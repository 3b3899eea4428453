// Starts `netcalc lsp` when the first spec is opened; everything else is the server's.

import * as vscode from "vscode";
import { LanguageClient } from "vscode-languageclient/node";

import { isSpec, serverCommand } from "./server";

let client: LanguageClient | undefined;

/** Start the server for specs that are open, or when one is opened or becomes one. */
export function activate(context: vscode.ExtensionContext): void {
  const startFor = (document: vscode.TextDocument) => {
    if (client === undefined && document.languageId === "yaml" && isSpec(document.getText())) {
      void start();
    }
  };
  context.subscriptions.push(
    vscode.workspace.onDidOpenTextDocument(startFor),
    vscode.workspace.onDidChangeTextDocument((event) => startFor(event.document)),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (client !== undefined && event.affectsConfiguration("netcalc")) {
        void restart();
      }
    }),
    vscode.commands.registerCommand("netcalc.restart", restart),
  );
  vscode.workspace.textDocuments.forEach(startFor);
}

/** Stop the server. */
export function deactivate(): Thenable<void> | undefined {
  const stopped = client;
  client = undefined;
  return stopped?.stop();
}

async function start(): Promise<void> {
  const settings = vscode.workspace.getConfiguration("netcalc");
  const folder = vscode.workspace.workspaceFolders?.find((each) => each.uri.scheme === "file")?.uri.fsPath;
  const server = serverCommand(settings.get("path", "netcalc"), folder);
  const dtype = settings.get<string | null>("dtype", null);
  const started = new LanguageClient(
    "netcalc",
    "netcalc",
    { run: server, debug: server },
    {
      documentSelector: [{ language: "yaml" }],
      initializationOptions: {
        convention: settings.get("convention", "netcalc"),
        symbolic: settings.get("symbolic", []),
        hints: settings.get("hints", ["shapes", "params"]),
        settings: settings.get("settings", {}),
        ...(dtype === null ? {} : { dtype }),
      },
    },
  );
  client = started;
  try {
    await started.start();
  } catch {
    const open = "Open the setting";
    const message = `netcalc: \`${server.command} lsp\` cannot be started. Install it by: pip install "netcalc-nn[lsp]"`;
    if ((await vscode.window.showErrorMessage(message, open)) === open) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "netcalc.path");
    }
  }
}

async function restart(): Promise<void> {
  try {
    await deactivate();
  } catch {
    // a server that never ran cannot be stopped
  }
  await start();
}
