// A function of browsers that the embedded engine does not have: dagre copies plain objects by it.
globalThis.structuredClone ??= (value) => JSON.parse(JSON.stringify(value))
