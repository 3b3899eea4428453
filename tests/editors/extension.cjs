// Loads the unpacked extension with the libraries that it carries, and the API of the editor replaced; prints what
// becomes of a document as JSON: the server that a language client is told to start, and its options.
//   node extension.cjs FOLDER SETTINGS LANGUAGE TEXT…

const Module = require("node:module");
const path = require("node:path");

const [folder, settings, language, ...texts] = process.argv.slice(2);
const listeners = {};
const errors = [];
const started = [];

/** Stand-in for a class or namespace of the editor's API that only has to be there. */
const anything = () =>
  new Proxy(class {}, { get: (target, name) => (name in target ? target[name] : name === "then" ? undefined : anything()) });

const document = (text) => ({ languageId: language, getText: () => text });
const listen = (name) => (listener) => ((listeners[name] = listener), { dispose() {} });
const vscode = {
  workspace: {
    onDidOpenTextDocument: listen("open"),
    onDidChangeTextDocument: listen("change"),
    onDidChangeConfiguration: listen("configuration"),
    textDocuments: [document(texts[0])],
    workspaceFolders: [{ uri: { scheme: "file", fsPath: "/work space" } }],
    getConfiguration: () => ({ get: (name, otherwise) => JSON.parse(settings)[name] ?? otherwise }),
  },
  commands: { registerCommand: (name) => ({ name }), executeCommand: async () => undefined },
  window: { showErrorMessage: async (message) => void errors.push(message) },
};

const load = Module._load;
let real = false;
Module._load = function (name, ...rest) {
  if (name === "vscode") return real ? anything() : vscode;
  if (name === "vscode-languageclient/node" && !real) {
    const LanguageClient = class {
      constructor(id, title, server, options) {
        Object.assign(this, { id, server, options });
      }
      async start() {
        started.push({ run: this.server.run, options: this.options });
        if (this.server.run.command.includes("missing")) throw new Error("no such command");
      }
      async stop() {}
    };
    return { LanguageClient };
  }
  return load.call(this, name, ...rest);
};

(async () => {
  real = true;
  const library = Module.createRequire(path.join(folder, "out", "extension.js"))("vscode-languageclient/node");
  real = false;
  const extension = require(path.join(folder, "out", "extension.js"));
  const context = { subscriptions: [] };
  extension.activate(context);
  for (const text of texts.slice(1)) listeners.change({ document: document(text) });
  await new Promise((resolve) => setTimeout(resolve, 20));
  await extension.deactivate();
  const subscribed = context.subscriptions.length;
  console.log(JSON.stringify({ started, errors, subscribed, library: typeof library.LanguageClient }));
})();
