import { checkDefinition } from "./check-definition.ts";

export const check = (text: string, more: Partial<Parameters<typeof checkDefinition>[1]> = {}) =>
  checkDefinition(text, { id: "flow", format: "yaml", ...more });
export const codes = (text: string, more: Partial<Parameters<typeof checkDefinition>[1]> = {}) =>
  check(text, more).problems.map(({ code, severity }) => `${severity} ${code}`);

/** A definition of the given nodes and edges, as `a.port > b`. */
export function flow(nodes: readonly object[], edges: string, top: object = {}): string {
  const written =
    edges === ""
      ? []
      : edges.split(",").map((edge) => {
          const [, from, fromPort, to] = /^\s*(\w+)(?:\.(\w+))? > (\w+)\s*$/.exec(edge) as RegExpExecArray;
          return { from, to, ...(fromPort === undefined ? {} : { fromPort }) };
        });
  return JSON.stringify({ nodes: [{ id: "start", kind: "trigger" }, ...nodes], edges: written, ...top });
}
export const set = (id: string, value: unknown = 1) => ({ id, kind: "set", value });
export const end = { id: "done", kind: "end" };
