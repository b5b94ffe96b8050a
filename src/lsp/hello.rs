//! The first message to a server: what we are, and what we understand.

use std::path::Path;

use serde_json::{Value, json};

use super::uri;

/// The parameters of `initialize` for a work tree.
pub(super) fn params(root: &Path, options: Value) -> Value {
    let uri = uri::of(root);
    let name = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let can_register = json!({ "dynamicRegistration": true });
    json!({
        // A server ends itself with the process of this number, which another name space may hide from it: the end of
        // its input tells it the same.
        "processId": null,
        "clientInfo": { "name": "coppice", "version": env!("CARGO_PKG_VERSION") },
        "rootPath": root.to_string_lossy(),
        "rootUri": uri,
        "workspaceFolders": [{ "uri": uri, "name": name }],
        "initializationOptions": options,
        "capabilities": {
            "general": { "positionEncodings": ["utf-16"] },
            "window": { "workDoneProgress": true },
            "workspace": {
                "applyEdit": false,
                "configuration": true,
                "workspaceFolders": true,
                "symbol": can_register,
                "didChangeWatchedFiles": can_register,
                "workspaceEdit": {
                    "documentChanges": true,
                    "resourceOperations": ["create", "rename", "delete"],
                    "failureHandling": "abort",
                },
            },
            "textDocument": {
                "synchronization": { "dynamicRegistration": true, "didSave": true },
                "definition": { "dynamicRegistration": true, "linkSupport": true },
                "references": can_register,
                "documentHighlight": can_register,
                "callHierarchy": can_register,
                "rename": { "dynamicRegistration": true, "prepareSupport": false },
                "diagnostic": can_register,
                "publishDiagnostics": { "versionSupport": true, "dataSupport": true, "relatedInformation": false },
                "codeAction": {
                    "dynamicRegistration": true,
                    "isPreferredSupport": true,
                    "disabledSupport": true,
                    "dataSupport": true,
                    "resolveSupport": { "properties": ["edit"] },
                    "codeActionLiteralSupport": {
                        "codeActionKind": {
                            "valueSet": ["", "quickfix", "refactor", "refactor.extract", "refactor.inline",
                                "refactor.rewrite", "source", "source.organizeImports", "source.fixAll"],
                        },
                    },
                },
            },
        },
    })
}
