/** The id of a visit: `<node>/<iteration>`. */
export const stepId = (node: string, iteration: string): string => `${node}/${iteration}`;

/** The node of a step or of a join's visit. */
export const nodeOf = (step: string): string => step.slice(0, step.indexOf("/"));

/** Returns the visit of its node. */
export const iterationOf = (step: string): string => step.slice(step.indexOf("/") + 1);

/** The scope of an item of a `forEach` step. */
export const itemScopeId = (step: string, index: number): string => `${step}/${index}`;

/** The group of the tokens at a join that came from one visit of its split. */
export const groupId = (scope: string, join: string, generation: number): string => `${scope}|${join}|${generation}`;
