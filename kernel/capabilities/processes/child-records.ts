import { hostname } from "node:os";
import { remove, type Store } from "@svc/sdk";

interface ChildRecord {
  /** Identity of the daemon: a process id is meaningless on another machine, and to a daemon of another folder. Absent in old records. */
  readonly daemon?: string;
  readonly pid: number;
  readonly identity: string;
}

/** Most children that are remembered; older records are overwritten. */
const REMEMBERED = 512;

/** Records of started processes, so that a killed daemon leaves no orphans behind. */
export interface ChildRecords {
  record(taskId: string, pid: number, identity: string): Promise<void>;
  /** Records of an earlier daemon; returned once. */
  readonly earlier: readonly ChildRecord[];
}

/** Reads the records of an earlier daemon of the same machine and folder from the kernel's store, and deletes them there. `marker` is the folder's. */
export async function openChildRecords(store: Store, marker: string): Promise<ChildRecords> {
  const records = store.collection<ChildRecord & { readonly taskId: string }>("children", { indexes: ["daemon"] });
  const daemon = `${hostname()} ${marker}`;
  const own = await records.list({ where: { daemon }, limit: REMEMBERED });
  const former = (await records.list({ from: "slot-", to: "slot.", limit: REMEMBERED })).filter(({ value }) => value.daemon === undefined);
  const found = [...own, ...former];
  if (found.length > 0) await store.commit(found.map(({ key }) => remove("children", key)));
  let next = 0;
  return {
    earlier: found.map(({ value }) => value),
    async record(taskId, pid, identity) {
      next = (next + 1) % REMEMBERED;
      await records.put(`${daemon} ${next}`, { daemon, taskId, pid, identity });
    },
  };
}
