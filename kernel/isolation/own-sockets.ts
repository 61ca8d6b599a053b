import type { Socket } from "node:net";
import { peerOf } from "../base/client-address.ts";
import { folderMark } from "../base/process-identity.ts";
import type { Tree } from "../capabilities/processes/process-tree.ts";
import { workingTrees } from "../capabilities/processes/working-trees.ts";

/**
 * Processes of isolated plugins that share this machine's network, of every kernel in this process. Their calls to our own ports are
 * refused: loopback means one of this machine's users, and an isolated plugin is not one of them.
 */
const trees = new Set<Tree>();
const judged = new WeakMap<Socket, Promise<boolean>>();
/** A process may have ended before its last request is read. */
const LINGER_MS = 60_000;

/** Starts to recognise connections of that tree. Call the returned function when the tree has ended. */
export function watchTree(tree: Tree): () => void {
  trees.add(tree);
  return () => void setTimeout(() => trees.delete(tree), LINGER_MS).unref();
}

/**
 * Whether the far end of a connection is a process of an isolated plugin. Looked up once a connection, and only while there is such a
 * process. True also for one whose far end is closed already: its caller awaits no answer. False where there is no `/proc`.
 */
export function isIsolated(socket: Socket): boolean | Promise<boolean> {
  if (trees.size === 0 || !peerOf(socket).own) return false;
  let found = judged.get(socket);
  if (found === undefined) {
    found = import("./socket-owner.ts").then(({ isHeldBy }) => isHeldBy(socket, [...trees]));
    judged.set(socket, found);
  }
  return found;
}

/** By connection: the task whose program is at the far end. */
const workers = new WeakMap<Socket, Promise<string | undefined>>();

/**
 * Returns the task for which a daemon on this data folder started the program at the remote end of a connection, or one of its ancestors, whatever
 * that program claims or omits. Looked up once per connection, and only while a program works for a task. Undefined without `/proc`.
 */
export function taskBehind(dataFolder: string, socket: Socket): Promise<string | undefined> | undefined {
  const trees = workingTrees(dataFolder);
  if (trees.length === 0 || !peerOf(socket).own) return workers.get(socket);
  let found = workers.get(socket);
  if (found === undefined) {
    found = import("./socket-owner.ts")
      .then(({ holderOf }) => holderOf(socket, trees))
      .then((holder) => (holder === undefined || holder === "closed" ? undefined : holder.taskId));
    workers.set(socket, found);
  }
  return found;
}

/** Whether the far end of a connection is a program that a daemon on this data folder has started, or one below it. Looked up at each call. */
export async function isStartedBy(dataFolder: string, socket: Socket): Promise<boolean> {
  if (!peerOf(socket).own) return false;
  const { isHeldBy } = await import("./socket-owner.ts");
  return isHeldBy(socket, [{ known: [], mark: `${folderMark(dataFolder)}.`, since: 0 }]);
}
