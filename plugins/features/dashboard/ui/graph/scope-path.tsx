import { Fragment } from "react";
import { GRAPH } from "../words/graph.ts";
import { type GraphDefinition, graphAt, type Scope } from "./graph-types.ts";
import { nameOf } from "./node-facts.ts";

/** The way into a body, and back: nothing at the top. */
export function ScopePath({ definition, scope, onOpen }: { readonly definition: GraphDefinition; readonly scope: Scope; onOpen(scope: Scope): void }) {
  if (scope.length === 0) return null;
  const names = scope.map((id, depth) => {
    const node = graphAt(definition, scope.slice(0, depth))?.nodes.find((one) => one.id === id);
    return node === undefined ? id : nameOf(node);
  });
  return (
    <nav className="graph-path" aria-label={GRAPH.path}>
      <button type="button" onClick={() => onOpen([])}>
        {GRAPH.whole}
      </button>
      {scope.map((id, depth) => (
        <Fragment key={id}>
          <span aria-hidden="true">/</span>
          <button type="button" aria-current={depth === scope.length - 1 ? "page" : undefined} onClick={() => onOpen(scope.slice(0, depth + 1))}>
            {names[depth]}
          </button>
        </Fragment>
      ))}
    </nav>
  );
}
