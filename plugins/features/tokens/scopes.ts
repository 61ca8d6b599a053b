import { type ScopeTable, svcError } from "@svc/sdk";

/** The scopes of `--scope`, given several times or with commas, each once. Throws `SVC_TOKEN_SCOPE` with the scopes that plugins declare. */
export function parseScopes(given: readonly string[], table: ScopeTable): readonly string[] {
  const scopes = [...new Set(given.flatMap((list) => list.split(",")).map((scope) => scope.trim()))].filter((scope) => scope !== "");
  const valid = table.declared.map(({ name, summary }) => `  ${name.padEnd(16)} ${summary ?? ""}`.trimEnd()).join("\n");
  if (scopes.length === 0) throw svcError("SVC_TOKEN_SCOPE", `A token needs at least one --scope:\n${valid}`, { status: 400, field: "scope" });
  const unknown = scopes.find((scope) => !table.has(scope));
  if (unknown !== undefined) throw svcError("SVC_TOKEN_SCOPE", `There is no scope '${unknown}'. There are:\n${valid}`, { status: 400, field: "scope" });
  return scopes;
}

const LONGEST_NAME = 100;

/** The name of a token. Throws `SVC_TOKEN_INVALID` for none, a long one, and control characters. */
export function parseName(given: unknown): string {
  const name = typeof given === "string" ? given.trim() : "";
  if (name === "" || name.length > LONGEST_NAME || /\p{Cc}/u.test(name))
    throw svcError("SVC_TOKEN_INVALID", `Give the token a name (--name) of 1 to ${LONGEST_NAME} characters.`, { status: 400, field: "name" });
  return name;
}
