import { folderMark } from "../../base/process-identity.ts";
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

const NONE: readonly WorkingTree[] = [];

/** Those that a daemon on this data folder has started. Asked with each request: where no program works, nothing is worked out. */
export function workingTrees(dataFolder: string): readonly WorkingTree[] {
  if (trees.size === 0) return NONE;
  const marker = `${folderMark(dataFolder)}.`;
  return [...trees].filter(({ mark }) => mark.startsWith(marker));
}
