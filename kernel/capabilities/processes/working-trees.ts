import { folderMark } from "../../base/process-identity.ts";
import type { Tree } from "./process-tree.ts";

/** The processes that work for one task. */
export interface WorkingTree extends Tree {
  readonly taskId: string;
}

/** Of every kernel in this process; the mark begins with that of the data folder. */
const trees = new Set<WorkingTree>();

/** Registers the tree as working for its task. Call the returned function when all of its processes have ended. */
export function beginWork(tree: WorkingTree): () => void {
  trees.add(tree);
  return () => void trees.delete(tree);
}

const NONE: readonly WorkingTree[] = [];

/** Returns the trees that a daemon on this data folder has started. Called for each request: cheap where no program works. */
export function workingTrees(dataFolder: string): readonly WorkingTree[] {
  if (trees.size === 0) return NONE;
  const marker = `${folderMark(dataFolder)}.`;
  return [...trees].filter(({ mark }) => mark.startsWith(marker));
}
