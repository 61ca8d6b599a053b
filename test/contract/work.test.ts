import type { Op } from "@svc/sdk";
import { Lanes } from "../../kernel/lanes/lanes.ts";
import { CONTRACT_LIMITS, workContract } from "../kit/work-contract.ts";

workContract("lanes in memory", (worker) => {
  const written: string[] = [];
  let failure: Error | undefined;
  const commit = async (ops: readonly Op[]) => {
    const error = failure;
    failure = undefined;
    if (error !== undefined) throw error;
    for (const op of ops) if (op.op === "put") written.push(op.key);
  };
  return {
    work: new Lanes<string>(worker, commit, CONTRACT_LIMITS),
    written: async () => written,
    failNext(error) {
      failure = error;
    },
  };
});
