//! What threads and turns are opened with.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{confined, wishes};
use crate::backend::codex::settings::{Opening, Wishes, read_models};
use crate::backend::event::{Block, Image};
use crate::backend::failure::FailureKind;
use crate::backend::{Access, Native, NativeTool, Purpose, ServedTool};
use crate::permission::{Effect, Posture};

fn user() -> Value {
    json!({"mcp_servers": {"mine": {"command": "x"}, "a.b": {}}, "shell_environment_policy": {"exclude": ["AWS_*"]}})
}

#[test]
fn no_place_of_the_repository_is_ever_trusted() {
    for purpose in [Purpose::Session, Purpose::Utility] {
        for opening in [Opening::Start, Opening::Resume] {
            let wishes = Wishes { purpose, real_cwd: PathBuf::from("/real"), ..wishes() };
            let projects = &wishes.open(opening, &user())["config"]["projects"];
            let untrusted = json!({"trust_level": "untrusted"});
            assert_eq!(*projects, json!({"/repo": untrusted, "/tree": untrusted, "/real": untrusted}));
        }
    }
}

#[test]
fn servers_of_the_user_are_switched_off_by_name_and_by_nested_keys() {
    let config = &wishes().open(Opening::Start, &user())["config"];
    assert_eq!(config["mcp_servers"], json!({"mine": {"enabled": false}, "a.b": {"enabled": false}}));
    assert!(config.as_object().unwrap().keys().all(|key| !key.contains('.')), "{config}");
    assert_eq!(wishes().open(Opening::Start, &json!({}))["config"]["mcp_servers"], Value::Null);
}

#[test]
fn no_program_of_the_user_runs_after_a_turn() {
    let user = json!({"notify": ["say", "done"], "hooks": {"Stop": []}});
    let config = &wishes().open(Opening::Start, &user)["config"];
    assert_eq!((&config["notify"], &config["features"]["hooks"]), (&json!([]), &json!(false)));
}

#[test]
fn a_person_sees_a_thread_in_the_sandbox_of_its_turns_and_is_asked() {
    let confined = confined();
    let settings = confined.interactive(&user());
    let turns = &confined.open(Opening::Resume, &user())["config"];
    for (name, value) in turns.as_object().unwrap() {
        assert_eq!(settings.get(name), Some(value), "{name}");
    }
    assert_eq!((settings.get("approval_policy"), settings.get("sandbox_mode")), (Some(&json!("on-request")), None));
    assert_eq!(
        (&settings["check_for_update_on_startup"], &settings["analytics"]["enabled"]),
        (&json!(false), &json!(false))
    );
    // Where nothing holds a turn but its approvals, a sandbox of its own holds the commands of a person.
    assert_eq!(wishes().interactive(&json!({}))["sandbox_mode"], "workspace-write");
    let reading = Wishes { posture: Posture::Plan, ..wishes() };
    assert_eq!(reading.interactive(&json!({}))["sandbox_mode"], "read-only");
}

#[test]
fn a_session_asks_before_every_call() {
    let wishes = Wishes {
        model: Some("m".to_owned()),
        instructions: Some("be brief".to_owned()),
        tools: vec![ServedTool {
            name: "t".to_owned(),
            description: "d".to_owned(),
            input_schema: json!({}),
            effect: Effect::Reads,
        }],
        env: vec![("FOO".to_owned(), "bar".to_owned()), ("AWS_KEY".to_owned(), "x".to_owned())],
        ..wishes()
    };
    let own = wishes.open(Opening::Start, &json!({"developer_instructions": "be kind"}));
    assert_eq!(own["developerInstructions"], "be kind\n\nbe brief");
    let params = wishes.open(Opening::Start, &user());
    for (name, expected) in [
        ("approvalPolicy", json!("untrusted")),
        ("approvalsReviewer", json!("user")),
        ("sandbox", json!("danger-full-access")),
        ("permissions", Value::Null),
        ("model", json!("m")),
        ("developerInstructions", json!("be brief")),
        ("dynamicTools", json!([{"type": "function", "name": "t", "description": "d", "inputSchema": {}}])),
        ("ephemeral", Value::Null),
    ] {
        assert_eq!(params[name], expected, "{name}");
    }
    let config = &params["config"];
    assert_eq!(config["shell_environment_policy"], json!({"inherit": "core", "set": {"FOO": "bar"}}));
    assert_eq!(config["tools"]["update_plan"]["enabled"], true);
    assert_eq!(config["tools"]["experimental_request_user_input"]["enabled"], false);
    for feature in ["goals", "multi_agent", "hooks", "plugins", "apps"] {
        assert_eq!(config["features"][feature], false, "{feature}");
    }
    assert_eq!(config["features"]["shell_tool"], Value::Null);
    assert_eq!((&config["agents"]["enabled"], &config["web_search"]), (&json!(false), &json!("disabled")));
}

#[test]
fn a_side_question_keeps_nothing_and_can_do_nothing() {
    let params = Wishes { purpose: Purpose::Utility, ..wishes() }.open(Opening::Start, &user());
    assert_eq!((&params["ephemeral"], &params["sandbox"]), (&json!(true), &json!("read-only")));
    assert_eq!(params["approvalPolicy"], "never");
    assert_eq!(params["config"]["features"]["shell_tool"], false);
    assert_eq!(params["config"]["project_doc_max_bytes"], 0);
}

fn surface(tools: Option<&[NativeTool]>, access: Access) -> Wishes {
    Wishes { native: Native { tools: tools.map(|tools| tools.iter().copied().collect()), access }, ..wishes() }
}

#[test]
fn read_only_is_said_at_every_opening_and_every_turn() {
    let wishes = surface(None, Access::ReadOnly);
    for opening in [Opening::Start, Opening::Resume] {
        let params = wishes.open(opening, &user());
        assert_eq!((&params["sandbox"], &params["approvalPolicy"]), (&json!("read-only"), &json!("never")));
        assert_eq!(params["config"]["features"]["shell_tool"], Value::Null, "the shell is what it reads by");
    }
    let turn = wishes.turn("t", &[]);
    assert_eq!(turn["sandboxPolicy"], json!({"type": "readOnly"}));
    assert_eq!(turn["approvalPolicy"], "never");
    let opened = |sandbox: &str, policy: &str| {
        let result = json!({"sandbox": {"type": sandbox}, "approvalPolicy": policy, "cwd": "/tree"});
        wishes.check(&result).is_ok()
    };
    assert!(opened("readOnly", "never"));
    assert!(!opened("workspaceWrite", "never"));
    assert!(!opened("readOnly", "untrusted"));
}

#[test]
fn a_profile_is_sent_at_every_opening_and_every_turn_and_required_of_every_reply() {
    let wishes = confined();
    let name = wishes.profile.as_ref().unwrap().name().to_owned();
    for opening in [Opening::Start, Opening::Resume] {
        let params = wishes.open(opening, &user());
        assert_eq!((&params["permissions"], &params["sandbox"]), (&json!(name), &Value::Null));
        assert_eq!(params["config"]["default_permissions"], json!(name));
        assert_eq!(params["config"]["permissions"][&name]["filesystem"]["/tree"], "write");
        assert_eq!(params["config"]["features"]["network_proxy"], Value::Null);
    }
    let turn = wishes.turn("t", &[]);
    assert_eq!((&turn["permissions"], &turn["sandboxPolicy"]), (&json!(name), &Value::Null));
    let opened = |profile: Value, policy: &str| {
        let result = json!({"sandbox": {"type": "workspaceWrite"}, "activePermissionProfile": profile,
            "approvalPolicy": policy, "cwd": "/tree"});
        wishes.check(&result).map_err(|failure| failure.kind)
    };
    assert_eq!(opened(json!({"id": name}), "untrusted"), Ok(()));
    for other in [json!({"id": ":workspace"}), json!({"id": "coppice-0"}), Value::Null] {
        assert_eq!(opened(other, "untrusted"), Err(FailureKind::Sandbox));
    }
    assert_eq!(opened(json!({"id": name}), "never"), Err(FailureKind::Sandbox));
}

#[test]
fn a_side_question_has_no_use_for_a_profile() {
    let params = Wishes { purpose: Purpose::Utility, ..confined() }.open(Opening::Start, &user());
    assert_eq!((&params["sandbox"], &params["permissions"]), (&json!("read-only"), &Value::Null));
    assert_eq!(params["config"]["permissions"], Value::Null);
}

/// Who decides is the engine, so calls come back to it in every posture but the one in which nothing can be changed.
#[test]
fn every_posture_that_changes_files_brings_all_calls_back() {
    for (posture, policy, sandbox) in [
        (Posture::Plan, "never", "read-only"),
        (Posture::Attended, "untrusted", "danger-full-access"),
        (Posture::Edits, "untrusted", "danger-full-access"),
        (Posture::Unattended, "untrusted", "danger-full-access"),
    ] {
        let params = Wishes { posture, ..wishes() }.open(Opening::Start, &user());
        assert_eq!((&params["approvalPolicy"], &params["sandbox"]), (&json!(policy), &json!(sandbox)), "{posture:?}");
        let params = Wishes { posture, ..confined() }.open(Opening::Start, &user());
        assert_eq!(params["approvalPolicy"], policy, "{posture:?}");
    }
}

#[test]
fn a_thread_has_what_its_surface_needs_and_no_more() {
    use NativeTool::{Bash, Edit, Patch, Read, Search, Todo, WebSearch};
    let check = |tools: &[NativeTool], sandbox: &str, has_shell: bool, search: &str, has_plan: bool| {
        let params = surface(Some(tools), Access::Write).open(Opening::Start, &user());
        let config = &params["config"];
        assert_eq!(params["sandbox"], sandbox, "{tools:?}");
        assert_eq!(config["features"]["shell_tool"] != false, has_shell, "{tools:?}");
        assert_eq!(config["features"]["view_image"] != false, has_shell, "{tools:?}");
        assert_eq!(config["web_search"], search, "{tools:?}");
        assert_eq!(config["tools"]["update_plan"]["enabled"], has_plan, "{tools:?}");
        assert_eq!((&config["agents"]["enabled"], &config["features"]["multi_agent"]), (&json!(false), &json!(false)));
    };
    check(&[], "read-only", false, "disabled", false);
    check(&[Todo, WebSearch], "read-only", false, "live", true);
    check(&[Read, Search], "read-only", true, "disabled", false);
    check(&[Patch], "danger-full-access", false, "disabled", false);
    check(&[Read, Edit, Bash, Todo], "danger-full-access", true, "disabled", true);
}

#[test]
fn a_resumed_thread_is_told_everything_again() {
    let wishes = Wishes { resume: Some("old".to_owned()), instructions: Some("x".to_owned()), ..wishes() };
    let (start, resume) = (wishes.open(Opening::Start, &user()), wishes.open(Opening::Resume, &user()));
    for name in ["cwd", "approvalPolicy", "approvalsReviewer", "sandbox", "config", "developerInstructions"] {
        assert_eq!(start[name], resume[name], "{name}");
    }
    assert_eq!((&resume["threadId"], &resume["excludeTurns"]), (&json!("old"), &json!(true)));
}

#[test]
fn a_turn_keeps_the_order_of_text_and_images() {
    let image =
        |path: &str| Block::Image(Image { mime_type: "image/png".to_owned(), data: String::new(), path: path.into() });
    let blocks = [Block::Text("see".to_owned()), image("/a.png"), Block::Text("and".to_owned()), image("/b.png")];
    let turn = Wishes { effort: Some("high"), model: Some("m".to_owned()), ..wishes() }.turn("t", &blocks);
    let input = json!([{"type": "text", "text": "see"}, {"type": "localImage", "path": "/a.png"},
        {"type": "text", "text": "and"}, {"type": "localImage", "path": "/b.png"}]);
    assert_eq!(turn["input"], input);
    assert_eq!((&turn["effort"], &turn["model"]), (&json!("high"), &json!("m")));
    assert_eq!(wishes().turn("t", &blocks)["effort"], Value::Null);
}

#[test]
fn models_come_with_the_levels_they_think_at() {
    let models = read_models(&json!({"data": [
        {"id": "a", "displayName": "A", "isDefault": true, "supportedReasoningEfforts": [{"reasoningEffort": "low"}, {"reasoningEffort": "max"}]},
        {"id": "b", "hidden": true}, {"odd": 1}]}));
    assert_eq!(models.len(), 1);
    assert_eq!((models[0].name.as_str(), models[0].is_default), ("A", true));
    assert_eq!(models[0].reasoning, ["low", "max"]);
}
