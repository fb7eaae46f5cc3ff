// Connects VS Code with `tsl lsp`, without any package: a client of the few methods that the server has.
"use strict";
const childProcess = require("child_process");
const vscode = require("vscode");

const LANGUAGE = { language: "tsl" };

/** A running server: sends requests and notifications, and calls `onNotification` with those of the server. */
class Server {
  constructor(program, onNotification, onEnd) {
    this.waiting = new Map();
    this.nextId = 1;
    this.input = Buffer.alloc(0);
    this.onNotification = onNotification;
    this.process = childProcess.spawn(program, ["lsp"], { stdio: ["pipe", "pipe", "ignore"] });
    this.process.on("error", (problem) => onEnd(problem.message));
    this.process.on("exit", (code) => {
      for (const { reject } of this.waiting.values()) reject(new Error("the language server has ended"));
      this.waiting.clear();
      onEnd(code === 0 ? null : `it ended with code ${code}`);
    });
    this.process.stdin.on("error", () => {}); // its exit is reported
    this.process.stdout.on("data", (bytes) => this.receive(bytes));
  }

  send(message) {
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    this.process.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    this.process.stdin.write(body);
  }

  notify(method, params) {
    this.send({ method, params });
  }

  request(method, params, token) {
    const id = this.nextId++;
    this.send({ id, method, params });
    token?.onCancellationRequested(() => this.notify("$/cancelRequest", { id }));
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }

  receive(bytes) {
    this.input = Buffer.concat([this.input, bytes]);
    for (;;) {
      const end = this.input.indexOf("\r\n\r\n");
      const length = end < 0 ? null : /content-length: *(\d+)/i.exec(this.input.toString("latin1", 0, end));
      if (!length || this.input.length < end + 4 + Number(length[1])) return;
      const body = this.input.subarray(end + 4, end + 4 + Number(length[1]));
      this.input = this.input.subarray(end + 4 + Number(length[1]));
      this.handle(JSON.parse(body.toString()));
    }
  }

  handle(message) {
    if (message.method) return this.onNotification(message.method, message.params);
    const waiting = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (!waiting) return;
    if (message.error) waiting.reject(new Error(message.error.message));
    else waiting.resolve(message.result);
  }

  async stop() {
    try {
      await this.request("shutdown", null);
      this.notify("exit", null);
    } catch {
      this.process.kill();
    }
  }
}

// ---- What the protocol writes, as objects of VS Code ----------------------------------------------------------

const toPosition = (at) => new vscode.Position(at.line, at.character);
const toRange = (range) => new vscode.Range(toPosition(range.start), toPosition(range.end));
const toLocation = (place) => new vscode.Location(vscode.Uri.parse(place.uri), toRange(place.range));
const toEdits = (edits) => (edits ?? []).map((edit) => new vscode.TextEdit(toRange(edit.range), edit.newText));
const toMarkdown = (content) => new vscode.MarkdownString(content.value);

function toWorkspaceEdit(edit) {
  const made = new vscode.WorkspaceEdit();
  for (const [uri, edits] of Object.entries(edit.changes)) made.set(vscode.Uri.parse(uri), toEdits(edits));
  return made;
}

function toDiagnostic(found) {
  const made = new vscode.Diagnostic(toRange(found.range), found.message, found.severity - 1);
  made.source = found.source;
  made.code = found.code;
  made.relatedInformation = (found.relatedInformation ?? []).map(
    (related) => new vscode.DiagnosticRelatedInformation(toLocation(related.location), related.message)
  );
  return made;
}

function toSymbol(symbol) {
  const made = new vscode.DocumentSymbol(symbol.name, "", symbol.kind - 1, toRange(symbol.range), toRange(symbol.selectionRange));
  made.children = symbol.children.map(toSymbol);
  return made;
}

function toCompletion(item) {
  const made = new vscode.CompletionItem(item.label, item.kind - 1);
  made.detail = item.detail;
  made.sortText = item.sortText;
  made.insertText = item.textEdit.newText;
  made.range = toRange(item.textEdit.range);
  return made;
}

function toSignatureHelp(help) {
  const made = new vscode.SignatureHelp();
  made.activeSignature = help.activeSignature;
  made.activeParameter = help.activeParameter;
  made.signatures = help.signatures.map((signature) => {
    const each = new vscode.SignatureInformation(signature.label, signature.documentation && toMarkdown(signature.documentation));
    each.parameters = signature.parameters.map((parameter) => new vscode.ParameterInformation(parameter.label));
    return each;
  });
  return made;
}

function toHint(hint) {
  const made = new vscode.InlayHint(new vscode.Position(hint.position.line, hint.position.character), hint.label, hint.kind);
  made.tooltip = hint.tooltip;
  return made;
}

function toCodeAction(action) {
  const made = new vscode.CodeAction(action.title, vscode.CodeActionKind.QuickFix);
  made.edit = toWorkspaceEdit(action.edit);
  return made;
}

// ---- The extension --------------------------------------------------------------------------------------------

let server = null;
let legend = null;

const documentOf = (document) => ({ textDocument: { uri: document.uri.toString() } });
const placeIn = (document, position) => ({
  ...documentOf(document),
  position: { line: position.line, character: position.character },
});

/** Asks the server, and turns its answer into what VS Code takes; nothing without a server. */
async function ask(method, params, turn, token) {
  if (!server) return undefined;
  const answer = await server.request(method, params, token);
  return answer === null || answer === undefined ? undefined : turn(answer);
}

function openText(document) {
  if (document.languageId !== "tsl" || !server) return;
  const item = { uri: document.uri.toString(), languageId: "tsl", version: document.version, text: document.getText() };
  server.notify("textDocument/didOpen", { textDocument: item });
}

async function start(context, diagnostics) {
  const program = vscode.workspace.getConfiguration("tsl").get("path");
  const onNotification = (method, params) => {
    if (method === "textDocument/publishDiagnostics")
      diagnostics.set(vscode.Uri.parse(params.uri), params.diagnostics.map(toDiagnostic));
  };
  const started = new Server(program, onNotification, (problem) => {
    if (server === started) server = null;
    diagnostics.clear();
    if (problem) vscode.window.showErrorMessage(`TSL: ${program} lsp: ${problem}. The setting tsl.path names the program.`);
  });
  const { capabilities } = await started.request("initialize", { processId: process.pid, rootUri: null, capabilities: {} });
  started.notify("initialized", {});
  const types = capabilities.semanticTokensProvider.legend;
  legend = new vscode.SemanticTokensLegend(types.tokenTypes, types.tokenModifiers);
  server = started;
  vscode.workspace.textDocuments.forEach(openText);
}

function providers() {
  const languages = vscode.languages;
  const at = (method, turn, more) => (document, position, token) =>
    ask("textDocument/" + method, { ...placeIn(document, position), ...more }, turn, token);
  return [
    languages.registerHoverProvider(LANGUAGE, {
      provideHover: at("hover", (found) => new vscode.Hover(toMarkdown(found.contents), toRange(found.range))),
    }),
    languages.registerCompletionItemProvider(
      LANGUAGE,
      {
        provideCompletionItems: (document, position, token) =>
          ask("textDocument/completion", placeIn(document, position), (found) => new vscode.CompletionList(found.items.map(toCompletion), found.isIncomplete), token),
      },
      ".", '"', "/"
    ),
    languages.registerSignatureHelpProvider(LANGUAGE, { provideSignatureHelp: at("signatureHelp", toSignatureHelp) }, "(", ","),
    languages.registerDefinitionProvider(LANGUAGE, { provideDefinition: at("definition", toLocation) }),
    languages.registerReferenceProvider(LANGUAGE, {
      provideReferences: (document, position, context, token) =>
        ask("textDocument/references", { ...placeIn(document, position), context }, (found) => found.map(toLocation), token),
    }),
    languages.registerDocumentHighlightProvider(LANGUAGE, {
      provideDocumentHighlights: at("documentHighlight", (found) =>
        found.map((each) => new vscode.DocumentHighlight(toRange(each.range), each.kind - 1))),
    }),
    languages.registerRenameProvider(LANGUAGE, {
      prepareRename: at("prepareRename", (found) => ({ range: toRange(found.range), placeholder: found.placeholder })),
      provideRenameEdits: (document, position, newName, token) =>
        ask("textDocument/rename", { ...placeIn(document, position), newName }, toWorkspaceEdit, token),
    }),
    languages.registerDocumentFormattingEditProvider(LANGUAGE, {
      provideDocumentFormattingEdits: (document, options, token) =>
        ask("textDocument/formatting", { ...documentOf(document), options }, toEdits, token),
    }),
    languages.registerDocumentSymbolProvider(LANGUAGE, {
      provideDocumentSymbols: (document, token) =>
        ask("textDocument/documentSymbol", documentOf(document), (found) => found.map(toSymbol), token),
    }),
    languages.registerInlayHintsProvider(LANGUAGE, {
      provideInlayHints: (document, range, token) =>
        ask("textDocument/inlayHint", { ...documentOf(document), range: { start: range.start, end: range.end } },
          (found) => found.map(toHint), token),
    }),
    languages.registerCodeActionsProvider(LANGUAGE, {
      provideCodeActions: (document, range, context, token) =>
        ask("textDocument/codeAction", { ...documentOf(document), range: { start: range.start, end: range.end }, context: { diagnostics: [] } },
          (found) => found.map(toCodeAction), token),
    }),
  ];
}

/** Registers the one provider that needs to know the server's kinds of tokens. */
function tokenProvider() {
  return vscode.languages.registerDocumentSemanticTokensProvider(LANGUAGE, {
    provideDocumentSemanticTokens: (document, token) =>
      ask("textDocument/semanticTokens/full", documentOf(document), (found) => new vscode.SemanticTokens(Uint32Array.from(found.data)), token),
  }, legend);
}

async function activate(context) {
  const diagnostics = vscode.languages.createDiagnosticCollection("tsl");
  const changes = vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
    if (document.languageId !== "tsl" || !server || contentChanges.length === 0) return;
    const textDocument = { uri: document.uri.toString(), version: document.version };
    const parts = contentChanges.map(({ range, text }) => ({ range: { start: range.start, end: range.end }, text }));
    server.notify("textDocument/didChange", { textDocument, contentChanges: parts });
  });
  const closings = vscode.workspace.onDidCloseTextDocument((document) => {
    if (document.languageId === "tsl" && server) server.notify("textDocument/didClose", documentOf(document));
  });
  const savings = vscode.workspace.onDidSaveTextDocument((document) => {
    if (document.languageId === "tsl" && server) server.notify("textDocument/didSave", documentOf(document));
  });
  const restart = vscode.commands.registerCommand("tsl.restart", async () => {
    const old = server;
    server = null;
    if (old) await old.stop();
    await start(context, diagnostics);
  });
  context.subscriptions.push(diagnostics, changes, closings, savings, restart, vscode.workspace.onDidOpenTextDocument(openText));
  await start(context, diagnostics);
  context.subscriptions.push(...providers(), tokenProvider());
}

async function deactivate() {
  const old = server;
  server = null;
  if (old) await old.stop();
}

module.exports = { activate, deactivate };
