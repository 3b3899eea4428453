// The server, as the settings name it.

import * as path from "node:path";

/** A command with its arguments, and the folder in which it runs. */
export interface ServerCommand {
  command: string;
  args: string[];
  options: { cwd?: string };
}

/**
 * Return the command that starts the server.
 *
 * @param named the setting `netcalc.path`; a path with a separator is relative to the folder
 * @param folder the first folder of the workspace
 */
export function serverCommand(named: string, folder: string | undefined): ServerCommand {
  const isPath = /[\\/]/.test(named);
  const command = isPath && folder !== undefined ? path.resolve(folder, named) : named;
  return { command: command || "netcalc", args: ["lsp"], options: folder === undefined ? {} : { cwd: folder } };
}

/** Return true for the text of a spec, which has the key `netcalc` at its top. */
export function isSpec(text: string): boolean {
  return /^(?:\{\s*)?(["']?)netcalc\1\s*:/m.test(text);
}
