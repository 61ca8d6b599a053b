import { errorTable } from "@svc/sdk";

/** Errors of the store: code to [HTTP status, message]. `{name}` is filled from the facts. */
export const ERRORS = {
  SVC_STORE_CONFLICT: [409, "The stored state of {collection} '{key}' has changed meanwhile; read it again and repeat."],
  SVC_STORE_UNREACHABLE: [503, "The database {database} does not answer ({reason}); what was asked may not be stored. It is tried again by itself."],
  SVC_STORE_BUSY: [503, "The database {database} is used by another daemon ({other}); end that one, or give this one a store.schema of its own."],
  SVC_STORE_LEAVING: [409, "{node} is ending already, so the wish cannot be taken back; start it again once it has ended. Look with: svc node list"],
  SVC_STORE_FULL: [507, "The disk of the database {database} is full: nothing was stored. Free some room there, or shorten what is kept."],
  SVC_STORE_FENCED: [503, "Another daemon took over what this one had in the database {database}: it was not heard of for too long, and must start anew."],
  SVC_STORE_REFUSED: [500, "The database {database} refused ({reason}); check store.url and the rights of its user."],
  SVC_STORE_NEWER: [
    500,
    "The schema of {database} has version {found}, newer than this program's {known}; start the newer program, migrations only go forward.",
  ],
  SVC_STORE_UNFIT: [500, "The database {database} cannot keep this state: {reason}. It speaks PostgreSQL's protocol, and is no PostgreSQL of 14 or newer."],
  SVC_STORE_CLOSED: [503, "The store is closed; the daemon is stopping."],
  SVC_STORE_NAME: [400, "'{name}' is no name for stored state: lower-case letters, digits and '-', '_', '.', starting with a letter or digit."],
  SVC_STORE_INDEX: [400, "'{field}' is no declared index of {collection}; declare it in `indexes` where the collection is opened."],
  SVC_STORE_CURSOR: [400, "The document '{key}' to continue after is no longer in {collection}; start the list again."],
  SVC_STORE_VALUE: [400, "The value for {collection} '{key}' cannot be stored: {reason}."],
} as const satisfies Record<string, readonly [status: number, message: string]>;

/** Makes the error of a code, its message filled from the facts. */
export const fail = errorTable(ERRORS);
