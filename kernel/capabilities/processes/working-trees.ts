import type { Tree } from "./process-tree.ts";

/** The processes that work for one task. */
export interface WorkingTree extends Tree {
  readonly taskId: string;
}

/** Of every kernel in this process; the mark begins with that of the data folder. */
const trees = new Set<WorkingTree>();

/** From now on its processes are known to work for its task. Call what it answers when all of them have ended. */
export function beginWork(tree: WorkingTree): () => void {
  trees.add(tree);
  return () => void trees.delete(tree);
}

/** Those whose mark begins with this one. */
export const workingTrees = (marker: string): readonly WorkingTree[] => [...trees].filter(({ mark }) => mark.startsWith(marker));
