//! Backslash commands.

use super::arguments::Invocation;
use super::copy;
use super::describe;
use super::editor;
use super::help;
use super::input::{Input, Reader};
use super::repl::{Done, Shell};
use super::scanner::Scanner;
use super::settings::{Expanded, Format, switch};
use super::variables;
use crate::output::complain;
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::Path;

/// The commands, for completion; `help.rs` says what they do.
pub(crate) const NAMES: &[&str] = &[
    "\\?",
    "\\!",
    "\\a",
    "\\cd",
    "\\conninfo",
    "\\copy",
    "\\d",
    "\\di",
    "\\dn",
    "\\ds",
    "\\dt",
    "\\dv",
    "\\e",
    "\\echo",
    "\\g",
    "\\gx",
    "\\h",
    "\\i",
    "\\ir",
    "\\l",
    "\\o",
    "\\p",
    "\\pset",
    "\\q",
    "\\qecho",
    "\\r",
    "\\set",
    "\\t",
    "\\timing",
    "\\unset",
    "\\warn",
    "\\x",
];

/// Runs a command.
pub(crate) fn run(
    shell: &mut Shell,
    invocation: &Invocation<'_>,
    scanner: &mut Scanner,
    input: &mut dyn Input,
) -> Done {
    // these take the line as it is
    match invocation.name {
        "copy" => return copy::run(shell, invocation.rest, input),
        "!" => return system(shell, invocation.rest),
        "h" | "help" => return print(shell, &help::statements(invocation.rest)),
        _ => {}
    }
    let arguments = match invocation.arguments() {
        Ok(arguments) => arguments,
        Err(what) => return fail(shell, &format!("\\{}: {what}", invocation.name)),
    };
    let arguments: Vec<String> = arguments
        .into_iter()
        .map(|argument| variables::expand(&argument, &shell.settings.variables).into_owned())
        .collect();
    let first = arguments.first().map(String::as_str);
    match invocation.name {
        "?" => print(shell, &help::commands()),
        "q" | "quit" => Done::Exit(0),
        "a" => {
            let aligned = shell.settings.format == Format::Aligned;
            shell.settings.format = if aligned { Format::Unaligned } else { Format::Aligned };
            say(shell, &format!("Output format is {}.", shell.settings.format.name()))
        }
        "cd" => {
            let home = std::env::home_dir();
            let Some(directory) = first.map(Path::new).or(home.as_deref()) else {
                return fail(shell, "\\cd: no home directory");
            };
            match std::env::set_current_dir(directory) {
                Ok(()) => Done::Well,
                Err(error) => fail(shell, &format!("\\cd: {}: {error}", directory.display())),
            }
        }
        "conninfo" => {
            let info = shell.connection.borrow().info();
            print(shell, &format!("{info}\n"))
        }
        "echo" | "qecho" => print(shell, &echoed(&arguments)),
        "warn" => {
            let _ = shell.out.flush();
            complain!("{}", echoed(&arguments));
            Done::Well
        }
        "e" | "edit" => edit(shell, first, scanner, input),
        "g" | "gx" => go(shell, invocation.name == "gx", first, scanner, input),
        "i" | "include" | "ir" => include(shell, invocation.name, first, input),
        "l" | "list" => describe::databases(shell),
        "o" | "out" => redirect(shell, first),
        "p" | "print" => {
            let text = scanner.statement().to_owned();
            print(shell, &if text.is_empty() { "Query buffer is empty.\n".to_owned() } else { text + "\n" })
        }
        "r" | "reset" => {
            scanner.clear();
            say(shell, "Query buffer reset (cleared).")
        }
        "pset" => pset(shell, &arguments),
        "x" => pset(shell, &[&["expanded".to_owned()], &arguments[..]].concat()),
        "t" => pset(shell, &[&["tuples_only".to_owned()], &arguments[..]].concat()),
        "set" => set(shell, &arguments),
        "unset" => {
            let Some(name) = first else { return fail(shell, "\\unset: missing required argument") };
            shell.settings.variables.remove(name);
            Done::Well
        }
        "timing" => {
            let on = match first.map(switch) {
                None => !shell.settings.timing,
                Some(Some(on)) => on,
                Some(None) => return fail(shell, "\\timing: on or off is expected"),
            };
            shell.settings.timing = on;
            say(shell, &format!("Timing is {}.", if on { "on" } else { "off" }))
        }
        name if name.starts_with('d') => match describe::Kinds::of(name) {
            Some(kinds) => describe::run(shell, &kinds, &arguments),
            None => unknown(shell, name),
        },
        name => unknown(shell, name),
    }
}

fn unknown(shell: &mut Shell, name: &str) -> Done {
    fail(shell, &format!("invalid command \\{name}; \\? lists the commands"))
}

/// Says what is wrong.
pub(crate) fn fail(shell: &mut Shell, what: &str) -> Done {
    shell.complain(what);
    Done::Badly
}

/// Prints a text where results go.
fn print(shell: &mut Shell, text: &str) -> Done {
    written(shell.out.write_all(text.as_bytes()))
}

/// Confirms what was set, unless that is not wanted.
fn say(shell: &mut Shell, what: &str) -> Done {
    if shell.settings.quiet { Done::Well } else { print(shell, &format!("{what}\n")) }
}

fn written(result: io::Result<()>) -> Done {
    result.map_or_else(|error| Done::Exit(super::unwritten(&error)), |()| Done::Well)
}

fn echoed(arguments: &[String]) -> String {
    match arguments.split_first() {
        Some((first, rest)) if first == "-n" => rest.join(" "),
        _ => arguments.join(" ") + "\n",
    }
}

/// Runs a command of the system.
fn system(shell: &mut Shell, command: &str) -> Done {
    let _ = shell.out.flush();
    let program = std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".to_owned());
    let mut process = std::process::Command::new(program);
    if !command.is_empty() {
        process.args(["-c", command]);
    }
    match process.status() {
        Ok(status) if status.success() => Done::Well,
        Ok(status) => fail(shell, &format!("\\!: {status}")),
        Err(error) => fail(shell, &format!("\\!: {error}")),
    }
}

/// Runs what is in the buffer, and, if it is asked for, with each value on a line of its own or into a file.
fn go(
    shell: &mut Shell,
    expanded: bool,
    file: Option<&str>,
    scanner: &mut Scanner,
    input: &mut dyn Input,
) -> Done {
    let statement = scanner.take();
    if statement.is_empty() {
        return fail(shell, "\\g: there is no statement to run");
    }
    let before = shell.settings.expanded;
    let mut out = None;
    if let Some(file) = file {
        match create(file) {
            Ok(file) => out = Some(std::mem::replace(&mut shell.out, file)),
            Err(error) => return fail(shell, &format!("{file}: {error}")),
        }
    }
    if expanded {
        shell.settings.expanded = Expanded::On;
    }
    let mut done = shell.statement(&statement, input);
    shell.settings.expanded = before;
    if let Some(out) = out {
        let flushed = std::mem::replace(&mut shell.out, out).flush();
        if let Err(error) = flushed {
            done = fail(shell, &format!("\\g: {error}"));
        }
    }
    done
}

fn create(path: &str) -> io::Result<Box<dyn Write>> {
    Ok(Box::new(io::BufWriter::new(File::create(path)?)))
}

/// Sends results to a file, or back to the standard output.
fn redirect(shell: &mut Shell, file: Option<&str>) -> Done {
    if let Err(error) = shell.out.flush() {
        return fail(shell, &format!("\\o: {error}"));
    }
    match file {
        None => shell.out = Box::new(io::BufWriter::new(io::stdout())),
        Some(path) => match create(path) {
            Ok(file) => shell.out = file,
            Err(error) => return fail(shell, &format!("{path}: {error}")),
        },
    }
    Done::Well
}

/// Runs a file. The path of `\ir` is relative to the file that names it.
fn include(shell: &mut Shell, name: &str, path: Option<&str>, input: &dyn Input) -> Done {
    let Some(path) = path else { return fail(shell, &format!("\\{name}: missing required argument")) };
    let mut path = Path::new(path).to_owned();
    if name == "ir"
        && let Some(place) = input.place()
        && let Some((file, _)) = place.rsplit_once(':')
        && let Some(directory) = Path::new(file).parent()
    {
        path = directory.join(path);
    }
    match File::open(&path) {
        Ok(file) => shell.include(&mut Reader::new(BufReader::new(file), Some(path.display().to_string()))),
        Err(error) => fail(shell, &format!("{}: {error}", path.display())),
    }
}

/// Opens the statement at hand, or a file, in an editor, and goes on with what comes back.
fn edit(shell: &mut Shell, file: Option<&str>, scanner: &mut Scanner, input: &mut dyn Input) -> Done {
    if !input.interactive() {
        return fail(shell, "\\e: only a person at a terminal can edit");
    }
    let _ = shell.out.flush();
    match editor::edit(file, scanner.statement()) {
        Ok(text) => {
            scanner.replace(&text);
            Done::Well
        }
        Err(error) => fail(shell, &format!("\\e: {error}")),
    }
}

/// Sets or lists variables.
fn set(shell: &mut Shell, arguments: &[String]) -> Done {
    let Some((name, values)) = arguments.split_first() else {
        let all: String =
            shell.settings.variables.iter().map(|(name, value)| format!("{name} = '{value}'\n")).collect();
        return print(shell, &all);
    };
    if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        return fail(shell, &format!("invalid variable name: \"{name}\""));
    }
    let value = values.concat();
    if name == "ON_ERROR_STOP" && !value.is_empty() && switch(&value).is_none() {
        return fail(shell, &format!("unrecognized value \"{value}\" for \"{name}\": on or off is expected"));
    }
    let value = if name == "ON_ERROR_STOP" && value.is_empty() { "on".to_owned() } else { value };
    shell.settings.variables.insert(name.clone(), value);
    Done::Well
}

/// Sets how results are printed.
fn pset(shell: &mut Shell, arguments: &[String]) -> Done {
    let name = arguments.first().map_or("", String::as_str);
    let value = arguments.get(1).map(String::as_str);
    let settings = &mut shell.settings;
    let said = match (name, value) {
        ("", _) => {
            let expanded = match settings.expanded {
                Expanded::Off => "off",
                Expanded::On => "on",
                Expanded::Auto => "auto",
            };
            format!(
                "columns     {}\nexpanded    {expanded}\nfieldsep    '{}'\nformat      {}\nnull        '{}'\n\
                 tuples_only {}",
                settings.width.unwrap_or(0),
                settings.separator,
                settings.format.name(),
                settings.null,
                if settings.tuples_only { "on" } else { "off" },
            )
        }
        ("format", Some(value)) => match Format::NAMES.iter().find(|(name, _)| *name == value) {
            Some((name, format)) => {
                settings.format = *format;
                format!("Output format is {name}.")
            }
            None => return fail(shell, "\\pset: allowed formats are aligned, unaligned, csv, json"),
        },
        ("format", None) => format!("Output format is {}.", settings.format.name()),
        ("expanded" | "x", value) => {
            settings.expanded = match (value, value.and_then(switch)) {
                (Some("auto"), _) => Expanded::Auto,
                (None, _) if settings.expanded == Expanded::On => Expanded::Off,
                (None, _) | (_, Some(true)) => Expanded::On,
                (_, Some(false)) => Expanded::Off,
                _ => return fail(shell, "\\x: on, off or auto is expected"),
            };
            match settings.expanded {
                Expanded::On => "Expanded display is on.",
                Expanded::Off => "Expanded display is off.",
                Expanded::Auto => "Expanded display is used automatically.",
            }
            .to_owned()
        }
        ("tuples_only" | "t", value) => {
            let Some(on) = value.map_or(Some(!settings.tuples_only), switch) else {
                return fail(shell, "\\t: on or off is expected");
            };
            settings.tuples_only = on;
            format!("Tuples only is {}.", if on { "on" } else { "off" })
        }
        ("null", value) => {
            settings.null = value.unwrap_or("").to_owned();
            format!("Null display is \"{}\".", settings.null)
        }
        ("fieldsep", Some(value)) => {
            settings.separator = value.to_owned();
            format!("Field separator is \"{value}\".")
        }
        ("columns", Some(value)) => match value.parse::<usize>() {
            Ok(columns) => {
                settings.width = (columns > 0).then_some(columns);
                format!("Target width is {columns}.")
            }
            Err(_) => return fail(shell, "\\pset: a number of columns is expected; 0 is the terminal's"),
        },
        _ => {
            let what = "\\pset: options are columns, expanded, fieldsep, format, null, tuples_only";
            return fail(shell, what);
        }
    };
    say(shell, &said)
}
