import { fail } from "../errors.ts";

/** By this variable the daemon finds its children again, whatever process group or session they moved to. */
export const RUN_VARIABLE = "SVC_RUN";

const INHERITED = new Set(["PATH", "HOME", "LANG", "TZ", "TMPDIR", "TERM"]);

/** Variables by which a value becomes code in the program or in what it starts. */
const LOADERS = new Set([
  "NODE_OPTIONS",
  "NODE_PATH",
  "NODE_REPL_EXTERNAL_MODULE",
  "PYTHONSTARTUP",
  "PYTHONPATH",
  "PYTHONHOME",
  "PYTHONINSPECT",
  "PYTHONBREAKPOINT",
  "BASH_ENV",
  "ENV",
  "SHELLOPTS",
  "BASHOPTS",
  "PS4",
  "PROMPT_COMMAND",
  "ZDOTDIR",
  "PERL5OPT",
  "PERL5LIB",
  "PERL5DB",
  "PERLLIB",
  "RUBYOPT",
  "RUBYLIB",
  "LUA_INIT",
  "PHPRC",
  "PHP_INI_SCAN_DIR",
  "JAVA_TOOL_OPTIONS",
  "JDK_JAVA_OPTIONS",
  "_JAVA_OPTIONS",
  "CLASSPATH",
  "GCONV_PATH",
  "GLIBC_TUNABLES",
  "LOCPATH",
  "NLSPATH",
  "GIT_SSH",
  "GIT_SSH_COMMAND",
  "GIT_EXEC_PATH",
  "GIT_EXTERNAL_DIFF",
  "GIT_ASKPASS",
  "IFS",
]);
const LOADER_FAMILY = /^(?:LD_|DYLD_|BASH_FUNC_|LUA_INIT_|GIT_CONFIG)/;

/** Whether a variable makes programs load or run what its value says; such a one is refused wherever an environment can be given. */
export function isLoaderVariable(name: string): boolean {
  return LOADERS.has(name) || LOADER_FAMILY.test(name);
}

/**
 * The whole environment of a child: PATH, HOME, LANG, LC_*, TZ, TMPDIR and TERM of the daemon, what was given, and the mark.
 * Nothing else of the daemon's environment reaches it. Throws `SVC_SPAWN_ENV`.
 */
export function childEnvironment(
  command: string,
  inherited: Readonly<Record<string, string | undefined>>,
  given: Readonly<Record<string, string>>,
  mark: string,
): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(inherited)) {
    if (value !== undefined && (INHERITED.has(name) || name.startsWith("LC_"))) env[name] = value;
  }
  for (const [name, value] of Object.entries(given)) {
    const reason = refusal(name, value);
    if (reason !== undefined) throw fail("SVC_SPAWN_ENV", { command, name, reason });
    env[name] = value;
  }
  env[RUN_VARIABLE] = mark;
  return env;
}

function refusal(name: string, value: string): string | undefined {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return "a name has letters, digits and '_' only";
  if (name === RUN_VARIABLE) return "the daemon sets it";
  if (isLoaderVariable(name)) return "it makes programs load code";
  return value.includes("\0") ? "its value holds a NUL" : undefined;
}
