//! The commands as the server registers them: their flags, keys and documentation.

use crate::commands::{client_command, server_command, stream_command};
use redis_module::{Context, raw};
use scaledb_occult::wire::{COMMANDS, Spec};
use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;

/// Since which version of the module the commands are there.
const SINCE: &str = "0.1.0";

/// What the module has besides the commands of `scaledb-occult`.
const OWN: [Spec; 2] = [
    Spec {
        name: "OCCULT.SERVER",
        arity: 1,
        writes: false,
        first_key: 0,
        last_key: 0,
        key_step: 0,
        arguments: "",
        summary: "The datacenter and the role of this server.",
    },
    Spec {
        name: "OCCULT.RESTORE",
        arity: 4,
        writes: true,
        first_key: 1,
        last_key: 1,
        key_step: 1,
        arguments: "key kind bytes",
        summary: "A value of a file that was rewritten as commands.",
    },
];

/// What runs a command, and its flags in the server's words.
fn kind(spec: &Spec) -> (raw::RedisModuleCmdFunc, &'static str) {
    match spec.name {
        "OCCULT.SERVER" => (Some(server_command), "readonly fast allow-stale"),
        // @admin and @dangerous: nobody but a master gives them
        "OCCULT.APPLY" | "OCCULT.BEAT" | "OCCULT.RESTORE" => {
            (Some(stream_command), "write admin deny-script")
        }
        // for operators
        "OCCULT.SETTLE" => (Some(client_command), "write admin deny-script"),
        "OCCULT.READ" => (Some(client_command), "readonly deny-script"),
        // these store more than there was
        "OCCULT.WRITE" | "OCCULT.PREPARE" => (Some(client_command), "write deny-oom deny-script"),
        _ => (Some(client_command), "write deny-script"),
    }
}

/// The access-control categories, where the server can be told: Redis 7.0 cannot.
fn categories(spec: &Spec) -> &'static CStr {
    match spec.name {
        "OCCULT.SERVER" => c"read fast",
        "OCCULT.APPLY" | "OCCULT.BEAT" | "OCCULT.RESTORE" | "OCCULT.SETTLE" => c"write admin dangerous slow",
        "OCCULT.READ" => c"read slow",
        _ => c"write slow",
    }
}

/// Registers all of them.
pub(crate) fn register(ctx: &Context) -> Result<(), String> {
    for spec in COMMANDS.iter().chain(&OWN) {
        register_one(ctx, spec)?;
    }
    Ok(())
}

fn register_one(ctx: &Context, spec: &Spec) -> Result<(), String> {
    let failed = || format!("the command {} cannot be registered", spec.name);
    let (callback, flags) = kind(spec);
    let name = CString::new(spec.name.to_ascii_lowercase()).map_err(|_| failed())?;
    let flags = CString::new(flags).map_err(|_| failed())?;
    // SAFETY: the context is that of the loading module, the texts live until the calls return, and the server
    // copies them
    unsafe {
        let create = raw::RedisModule_CreateCommand.ok_or_else(failed)?;
        let (first, last, step) = (spec.first_key, spec.last_key, spec.key_step);
        if create(ctx.ctx, name.as_ptr(), callback, flags.as_ptr(), first, last, step) != 0 {
            return Err(failed());
        }
        // older servers have no documentation of modules' commands
        let (Some(get), Some(set)) = (raw::RedisModule_GetCommand, raw::RedisModule_SetCommandInfo) else {
            return Ok(());
        };
        let command = get(ctx.ctx, name.as_ptr());
        if command.is_null() {
            return Err(failed());
        }
        if let Some(categorize) = raw::RedisModule_SetCommandACLCategories
            && categorize(command, categories(spec).as_ptr()) != 0
        {
            return Err(failed());
        }
        let mut texts = Texts::default();
        let mut arguments = arguments(spec.arguments, &mut texts);
        let mut keys = key_specs(spec);
        let version = raw::RedisModuleCommandInfoVersion {
            version: 1,
            sizeof_historyentry: size_of::<raw::RedisModuleCommandHistoryEntry>(),
            sizeof_keyspec: size_of::<raw::RedisModuleCommandKeySpec>(),
            sizeof_arg: size_of::<raw::RedisModuleCommandArg>(),
        };
        let info = raw::RedisModuleCommandInfo {
            version: &raw const version,
            summary: texts.keep(spec.summary),
            complexity: texts.keep("O(N) with N the keys"),
            since: texts.keep(SINCE),
            history: ptr::null_mut(),
            tips: ptr::null(),
            arity: c_int::try_from(spec.arity).unwrap_or(0),
            key_specs: if spec.first_key == 0 { ptr::null_mut() } else { keys.as_mut_ptr() },
            args: if spec.arguments.is_empty() { ptr::null_mut() } else { arguments.as_mut_ptr() },
        };
        if set(command, &raw const info) != 0 { Err(failed()) } else { Ok(()) }
    }
}

/// Texts that live as long as what points to them.
#[derive(Default)]
struct Texts {
    kept: Vec<CString>,
    /// Arguments of arguments, each list ending with one without a name.
    lists: Vec<Vec<raw::RedisModuleCommandArg>>,
}

impl Texts {
    fn keep(&mut self, text: &str) -> *const c_char {
        let text = CString::new(text).unwrap_or_default();
        let pointer = text.as_ptr();
        self.kept.push(text);
        pointer
    }
}

/// The arguments `a b [c ...]`, and one without a name, which ends the list. Those called `key` or `slotkey` are keys.
fn arguments(text: &str, texts: &mut Texts) -> Vec<raw::RedisModuleCommandArg> {
    let (fixed, repeated) = text.split_once(" [").unwrap_or((text, ""));
    let mut list: Vec<_> = fixed.split_whitespace().map(|name| argument(name, texts)).collect();
    let mut repeated: Vec<_> =
        repeated.trim_end_matches(" ...]").split_whitespace().map(|name| argument(name, texts)).collect();
    let flags = raw::REDISMODULE_CMD_ARG_OPTIONAL | raw::REDISMODULE_CMD_ARG_MULTIPLE;
    let flags = c_int::try_from(flags).unwrap_or(0);
    match repeated.len() {
        0 => {}
        1 => {
            repeated[0].flags = flags;
            list.append(&mut repeated);
        }
        _ => {
            let mut block = argument("more", texts);
            block.type_ = raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_BLOCK;
            block.flags = flags;
            repeated.push(end());
            block.subargs = repeated.as_mut_ptr();
            texts.lists.push(repeated);
            list.push(block);
        }
    }
    list.push(end());
    list
}

fn argument(name: &str, texts: &mut Texts) -> raw::RedisModuleCommandArg {
    let key = name == "key" || name == "slotkey";
    raw::RedisModuleCommandArg {
        name: texts.keep(name),
        type_: if key {
            raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_KEY
        } else {
            raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_STRING
        },
        key_spec_index: if key { 0 } else { -1 },
        ..end()
    }
}

fn end() -> raw::RedisModuleCommandArg {
    raw::RedisModuleCommandArg {
        name: ptr::null(),
        type_: raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_STRING,
        key_spec_index: -1,
        token: ptr::null(),
        summary: ptr::null(),
        since: ptr::null(),
        flags: 0,
        deprecated_since: ptr::null(),
        subargs: ptr::null_mut(),
        display_text: ptr::null(),
    }
}

/// Where the keys are, and an empty one, which ends the list.
fn key_specs(spec: &Spec) -> [raw::RedisModuleCommandKeySpec; 2] {
    let flags = if spec.writes {
        raw::REDISMODULE_CMD_KEY_RW | raw::REDISMODULE_CMD_KEY_ACCESS | raw::REDISMODULE_CMD_KEY_UPDATE
    } else {
        raw::REDISMODULE_CMD_KEY_RO | raw::REDISMODULE_CMD_KEY_ACCESS
    };
    // the last key is counted from the first one, or from the end
    let last = if spec.last_key < 0 { spec.last_key } else { spec.last_key - spec.first_key };
    // SAFETY: all of it is numbers and pointers, for which zeros are valid, and mean an end
    let end: raw::RedisModuleCommandKeySpec = unsafe { std::mem::zeroed() };
    let keys = raw::RedisModuleCommandKeySpec {
        notes: ptr::null(),
        flags: flags.into(),
        begin_search_type: raw::RedisModuleKeySpecBeginSearchType_REDISMODULE_KSPEC_BS_INDEX,
        bs: raw::RedisModuleCommandKeySpec__bindgen_ty_1 {
            index: raw::RedisModuleCommandKeySpec__bindgen_ty_1__bindgen_ty_1 { pos: spec.first_key },
        },
        find_keys_type: raw::RedisModuleKeySpecFindKeysType_REDISMODULE_KSPEC_FK_RANGE,
        fk: raw::RedisModuleCommandKeySpec__bindgen_ty_2 {
            range: raw::RedisModuleCommandKeySpec__bindgen_ty_2__bindgen_ty_1 {
                lastkey: last,
                keystep: spec.key_step,
                limit: 0,
            },
        },
    };
    [keys, end]
}
