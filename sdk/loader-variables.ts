/** Environment variables whose value makes the program, or one that it starts, load code. */
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

/** Whether a variable makes programs load or run code from its value; such a variable is refused wherever an environment can be configured. */
export function isLoaderVariable(name: string): boolean {
  return LOADERS.has(name) || LOADER_FAMILY.test(name);
}
