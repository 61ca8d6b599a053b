import { remove, type Store } from "@svc/sdk";

interface ChildRecord {
  readonly pid: number;
  readonly identity: string;
}

/** Most children that are remembered; older records are overwritten. */
const REMEMBERED = 512;

/** Records of started processes, so that a daemon that was killed leaves none behind for ever. */
export interface ChildRecords {
  record(taskId: string, pid: number, identity: string): Promise<void>;
  /** What an earlier daemon recorded; given out once. */
  readonly earlier: readonly ChildRecord[];
}

/** Reads what an earlier daemon recorded in the kernel's store, and forgets it there. */
export async function openChildRecords(store: Store): Promise<ChildRecords> {
  const records = store.collection<ChildRecord & { readonly taskId: string }>("children");
  const found = await records.list({ limit: REMEMBERED });
  if (found.length > 0) await store.commit(found.map(({ key }) => remove("children", key)));
  let next = 0;
  return {
    earlier: found.map(({ value }) => value),
    async record(taskId, pid, identity) {
      next = (next + 1) % REMEMBERED;
      await records.put(`slot-${next}`, { taskId, pid, identity });
    },
  };
}
