import { append, put, remove, type Store } from "@svc/sdk";

/** One start of a node; `clean` when its run before that had stopped in good order. */
export interface Start {
  /** Absent in starts from before several nodes could share a store. */
  readonly node?: string;
  readonly at: number;
  readonly clean: boolean;
}

/** The journal of starts. */
export const STARTS = "starts";

/** Maximum number of starts read, over all nodes. */
const LOOKED_BACK = 200;

/** The mark of a node that runs; without a name the one from before nodes had marks of their own. */
const runningMark = (node?: string): string => (node === undefined ? "running" : `running ${node}`);

/** The latest starts of a node, oldest first. */
export async function startsOf(store: Store, node: string): Promise<readonly Start[]> {
  const starts = await store.journal<Start>(STARTS).tail(LOOKED_BACK);
  return starts.map(({ value }) => value).filter((start) => (start.node ?? node) === node);
}

/** Returns the start in progress, not stored yet; `clean`: the previous run ended in order. */
export async function thisStart(store: Store, node: string, now: number): Promise<Start> {
  const marks = store.collection("marks");
  return { node, at: now, clean: ((await marks.get(runningMark(node))) ?? (await marks.get(runningMark()))) === undefined };
}

/** Note a start: from now on the end of this process counts as a crash, unless it is noted too. */
export async function noteStart(store: Store, start: Start): Promise<void> {
  await store.commit([put("marks", runningMark(start.node), { at: start.at }), remove("marks", runningMark()), append(STARTS, start)]);
}

/** The latest start of a node that followed a run which did not end in good order, in Unix milliseconds. */
export async function lastCrash(store: Store, node: string): Promise<number | undefined> {
  return (await startsOf(store, node)).findLast(({ clean }) => !clean)?.at;
}

/** The run of a node ends in good order. */
export async function noteStop(store: Store, node: string): Promise<void> {
  await store.commit([remove("marks", runningMark(node))]);
}
