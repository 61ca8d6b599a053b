import { codeOf, reasonOf, type StoreCheck } from "@svc/sdk";
import type { Cli } from "../cli.ts";
import { whyNoRoom } from "../disk-room.ts";
import { error, type Finding, ok, warning } from "./finding.ts";

/** Could a start open the state? Reads it and changes nothing. */
export async function checkStore(cli: Cli): Promise<Finding[]> {
  let checked: StoreCheck | undefined;
  try {
    const { storeFor } = await import("../store.ts");
    checked = await (await storeFor(cli)).check?.({ folder: cli.dataFolder, quick: true });
  } catch (failure) {
    // Choosing the store is part of svc.json, and reported there.
    return ["SVC_STORE_NONE", "SVC_STORE_SEVERAL"].includes(codeOf(failure) ?? "") ? [] : [error(reasonOf(failure))];
  }
  if (checked === undefined) return [];
  const { file, problems } = checked;
  const [first, ...others] = problems;
  if (first === undefined) return [ok(`${file} is sound`)];
  // Even reading takes room beside the database.
  if (whyNoRoom(cli.dataFolder) !== undefined) return [warning(`${file} cannot be read while its disk is full`)];
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  return [error(`${file} cannot be used: ${first}${more}; see svc db check, and put a copy from before the damage in its place`)];
}
