import { codeOf, reasonOf } from "@svc/sdk";
import { fail } from "./errors.ts";

/** Class of an error of the server or the connection. */
export type ServerFailure = "again" | "away" | "full" | "fenced" | "refused";

/** Conflicts of two transactions that a new try ends: a deadlock, a serialisation failure, a lock that was not got in time. */
const AGAIN = new Set(["40P01", "40001", "55P03"]);
/** The server stops, starts, has no place, or only reads (a standby): it or another will serve. */
const AWAY = /^(08...|57P0[1-5]|53300|25006|57014)$/;

/** Tells the failures apart by their codes. What has no code of the server is a connection that broke. */
export function serverFailure(error: unknown): ServerFailure {
  const code = codeOf(error) ?? "";
  if (code === "SV001") return "fenced";
  if (AGAIN.has(code)) return "again";
  if (code === "53100") return "full";
  if (AWAY.test(code) || !/^[0-9A-Z]{5}$/.test(code) || /^E[A-Z]{4}$/.test(code)) return "away";
  return "refused";
}

/** Whether what was asked is surely not done: it was never sent, or the server says that it undid it. */
export function isUndone(error: unknown): boolean {
  const code = codeOf(error) ?? "";
  return (error as { unsent?: boolean }).unsent === true || ["53300", "25006", "57014", "57P03"].includes(code);
}

/** An error of the server as the store's own; an own one unchanged. */
export function storeError(error: unknown, database: string): unknown {
  if (codeOf(error)?.startsWith("SVC_") === true) return error;
  const facts = { database, reason: reasonOf(error), cause: error };
  switch (serverFailure(error)) {
    case "fenced":
      return fail("SVC_STORE_FENCED", facts);
    case "full":
      return fail("SVC_STORE_FULL", facts);
    case "refused":
      return fail("SVC_STORE_REFUSED", facts);
    default:
      return fail("SVC_STORE_UNREACHABLE", facts);
  }
}
