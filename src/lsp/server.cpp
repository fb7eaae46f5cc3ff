#include "lsp/server.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include <fmt/format.h>

#include "lsp/connection.h"
#include "lsp/features.h"

namespace tsl::lsp {

namespace {

struct Method {
  std::string_view name;
  Feature feature;
};

/// The requests about an open text.
constexpr Method kFeatures[] = {
    {"textDocument/completion", completion},
    {"textDocument/signatureHelp", signature_help},
    {"textDocument/documentHighlight", highlights},
    {"textDocument/formatting", formatting},
    {"textDocument/codeAction", code_actions},
    {"textDocument/documentSymbol", symbols},
    {"textDocument/semanticTokens/full", semantic_tokens},
};

struct ProjectMethod {
  std::string_view name;
  ProjectFeature feature;
};

/// Those for which other texts count, too.
constexpr ProjectMethod kProjectFeatures[] = {
    {"textDocument/hover", hover},
    {"textDocument/inlayHint", inlay_hints},
    {"textDocument/definition", definition},
    {"textDocument/references", references},
    {"textDocument/prepareRename", prepare_rename},
    {"textDocument/rename", rename},
};

Json capabilities(Encoding encoding) {
  constexpr int kIncremental = 2;
  return {{"positionEncoding", encoding == Encoding::utf8 ? "utf-8" : "utf-16"},
          {"textDocumentSync", {{"openClose", true}, {"change", kIncremental}}},
          {"hoverProvider", true},
          {"inlayHintProvider", true},
          {"completionProvider", {{"triggerCharacters", {".", "\"", "/"}}}},
          {"signatureHelpProvider", {{"triggerCharacters", {"(", ","}}}},
          {"definitionProvider", true},
          {"referencesProvider", true},
          {"documentHighlightProvider", true},
          {"renameProvider", {{"prepareProvider", true}}},
          {"documentFormattingProvider", true},
          {"documentSymbolProvider", true},
          {"codeActionProvider", {{"codeActionKinds", {"quickfix"}}}},
          {"semanticTokensProvider", {{"legend", token_legend()}, {"full", true}}}};
}

class Server {
 public:
  Server(const Library& library, analysis::Workspace::FindModule find_module, int input, int output)
      : connection_(input, output),
        names_(library,
               [this, find = std::move(find_module)](const auto& path, bool is_file, const auto& importer) {
                 return with_open_text(find(path, is_file, importer));
               }),
        types_(library) {
    names_.expect_edits();
  }

  int run();

 private:
  bool read_messages(bool may_wait);
  void note_message(const std::string& text);
  void handle(const Json& message);
  void notify(const std::string& method, const Json& parameters);
  Json answer(const std::string& method, const Json& parameters);
  Json initialize(const Json& parameters);

  void open(const Json& parameters);
  void change(const Json& parameters);
  void close(const Json& parameters);
  void publish_next();
  Document& document_of(const Json& parameters);
  ModuleSource with_open_text(ModuleSource module) const;

  void send(const Json& message);
  void refuse(const Json& id, ErrorCode code, const std::string& message);

  Connection connection_;
  analysis::Workspace names_;
  inference::Types types_;
  std::deque<Json> queue_;                // messages that wait
  std::set<Json> cancelled_;              // ids of requests among them
  std::map<std::string, Document> open_;  // by URI
  std::set<std::string> changed_;         // whose diagnostics are to be found
  Encoding encoding_ = Encoding::utf16;
  bool is_initialized_ = false, is_leaving_ = false, is_done_ = false;
};

// ---- Messages ------------------------------------------------------------------------------------------

int Server::run() {
  while (!is_done_) {
    const bool is_idle = queue_.empty();
    if (is_idle && !changed_.empty() && !connection_.has_input()) publish_next();
    else if (!read_messages(is_idle)) break;
    if (queue_.empty()) continue;
    const Json message = std::move(queue_.front());
    queue_.pop_front();
    handle(message);
  }
  return is_leaving_ ? 0 : 1;
}

/// Reads what has come, so that a request is known to be cancelled before it is answered. Returns false at the end.
bool Server::read_messages(bool may_wait) {
  while (may_wait || connection_.has_input()) {
    may_wait = false;
    const bool is_open = connection_.receive();
    while (const std::optional<std::string> text = connection_.next()) note_message(*text);
    if (!is_open) return !queue_.empty();
  }
  return true;
}

void Server::note_message(const std::string& text) {
  Json message = Json::parse(text, nullptr, false);
  if (message.is_discarded()) return refuse(nullptr, ErrorCode::parse_error, "this is no JSON");
  if (!message.is_object()) return refuse(nullptr, ErrorCode::invalid_request, "a message is an object");
  const bool is_cancel = message.contains("method") && message["method"] == "$/cancelRequest";
  if (!is_cancel) return queue_.push_back(std::move(message));
  const Json parameters = message.value("params", Json());
  if (!parameters.is_object() || !parameters.contains("id")) return;
  const bool waits = std::any_of(queue_.begin(), queue_.end(), [&](const Json& each) {
    return each.contains("method") && each.contains("id") && each["id"] == parameters["id"];
  });
  if (waits) cancelled_.insert(parameters["id"]);
}

void Server::handle(const Json& message) {
  const auto method = message.find("method");
  const auto id = message.find("id");
  const bool is_request = id != message.end();
  if (method == message.end() && is_request) return;  // a response, though nothing was asked
  const bool is_sound =
      method != message.end() && method->is_string() && (!is_request || id->is_number_integer() || id->is_string());
  if (!is_sound)
    return refuse(nullptr, ErrorCode::invalid_request, "a request has a method, and its id is a number or a string");
  const Json parameters = message.value("params", Json::object());
  const Json request = is_request ? *id : Json();
  try {
    if (!is_request) return notify(*method, parameters);
    if (cancelled_.erase(request) != 0) throw Refusal(ErrorCode::request_cancelled, "it was cancelled");
    send({{"jsonrpc", "2.0"}, {"id", request}, {"result", answer(*method, parameters)}});
    return;
  } catch (const Refusal& refusal) {
    if (is_request) refuse(request, refusal.code, refusal.what());
  } catch (const Json::exception& problem) {
    if (is_request) refuse(request, ErrorCode::invalid_params, problem.what());
  } catch (const std::exception& problem) {  // memory, or a limit
    if (is_request) refuse(request, ErrorCode::internal_error, problem.what());
  }
}

void Server::send(const Json& message) {
  if (!connection_.send(message.dump(-1, ' ', false, Json::error_handler_t::replace))) is_done_ = true;
}

void Server::refuse(const Json& id, ErrorCode code, const std::string& message) {
  send({{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", static_cast<int>(code)}, {"message", message}}}});
}

// ---- Requests ------------------------------------------------------------------------------------------

Json Server::answer(const std::string& method, const Json& parameters) {
  if (method == "initialize") return initialize(parameters);
  if (!is_initialized_) throw Refusal(ErrorCode::not_initialized, "initialize comes first");
  if (is_leaving_) throw Refusal(ErrorCode::invalid_request, "after shutdown comes exit");
  if (method == "shutdown") {
    is_leaving_ = true;
    return nullptr;
  }
  for (const Method& each : kFeatures) {
    if (each.name == method) return each.feature(names_, document_of(parameters), parameters);
  }
  for (const ProjectMethod& each : kProjectFeatures) {
    if (each.name == method) return each.feature({names_, types_, open_}, document_of(parameters), parameters);
  }
  throw Refusal(ErrorCode::method_not_found, fmt::format("there is no method '{}'", method));
}

Json Server::initialize(const Json& parameters) {
  if (is_initialized_) throw Refusal(ErrorCode::invalid_request, "it is initialized already");
  const Json::json_pointer offered("/capabilities/general/positionEncodings");
  if (parameters.contains(offered) && parameters[offered].is_array()) {
    for (const Json& each : parameters[offered]) {
      if (each == "utf-8") encoding_ = Encoding::utf8;
    }
  }
  is_initialized_ = true;
  return {{"capabilities", capabilities(encoding_)}, {"serverInfo", {{"name", "tsl"}, {"version", TSL_VERSION}}}};
}

void Server::notify(const std::string& method, const Json& parameters) {
  if (method == "exit") is_done_ = true;
  if (!is_initialized_ || is_leaving_) return;
  if (method == "textDocument/didOpen") open(parameters);
  if (method == "textDocument/didChange") change(parameters);
  if (method == "textDocument/didClose") close(parameters);
  if (method == "textDocument/didSave" || method == "workspace/didChangeWatchedFiles") {
    for (const auto& [uri, document] : open_) changed_.insert(uri);  // which may import it
  }
}

// ---- Texts ---------------------------------------------------------------------------------------------

Document& Server::document_of(const Json& parameters) {
  const std::string uri = parameters.at("textDocument").at("uri");
  const auto found = open_.find(uri);
  if (found == open_.end()) throw Refusal(ErrorCode::invalid_params, fmt::format("{} is not open", uri));
  return found->second;
}

void Server::open(const Json& parameters) {
  const Json& item = parameters.at("textDocument");
  const std::string uri = item.at("uri");
  const auto at = open_.insert_or_assign(uri, Document(uri, item.at("text"), encoding_)).first;
  at->second.version = item.value("version", Json());
  changed_.insert(uri);
}

void Server::change(const Json& parameters) {
  Document& document = document_of(parameters);
  for (const Json& part : parameters.at("contentChanges")) {
    const std::string text = part.at("text");
    if (!part.contains("range")) document.set_text(text);
    else document.replace(read_position(part["range"].at("start")), read_position(part["range"].at("end")), text);
  }
  document.version = parameters["textDocument"].value("version", Json());
  changed_.insert(document.uri());
}

void Server::close(const Json& parameters) {
  const Document& document = document_of(parameters);
  const std::string uri = document.uri();
  names_.forget_text(document.path());
  open_.erase(uri);
  changed_.erase(uri);
  send({{"jsonrpc", "2.0"},
        {"method", "textDocument/publishDiagnostics"},
        {"params", {{"uri", uri}, {"diagnostics", Json::array()}}}});
}

/// Finds the diagnostics of one text that has changed.
void Server::publish_next() {
  Document& document = open_.at(*changed_.begin());
  changed_.erase(changed_.begin());
  try {
    document.diagnostics = find_diagnostics(names_, document);
  } catch (const std::exception&) {  // memory, or a limit: the next edit tries again
    return;
  }
  Json parameters{{"uri", document.uri()}, {"diagnostics", document.diagnostics}};
  if (!document.version.is_null()) parameters["version"] = document.version;
  send({{"jsonrpc", "2.0"}, {"method", "textDocument/publishDiagnostics"}, {"params", std::move(parameters)}});
}

/// Replaces the text of a module's file by that of an editor, which may not be saved.
ModuleSource Server::with_open_text(ModuleSource module) const {
  for (const auto& [uri, document] : open_) {
    if (!document.path().empty() && document.path() == module.key) module.text = document.text();
  }
  return module;
}

}  // namespace

int serve(const Library& library, analysis::Workspace::FindModule find_module, int input, int output) {
  return Server(library, std::move(find_module), input, output).run();
}

}  // namespace tsl::lsp
