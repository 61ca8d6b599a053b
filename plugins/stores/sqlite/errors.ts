import { errorTable } from "@svc/sdk";

/** Errors of the store: code to [HTTP status, message]. `{name}` is filled from the facts. */
export const ERRORS = {
  SVC_STORE_CONFLICT: [409, "The stored state of {collection} '{key}' has changed meanwhile; read it again and repeat."],
  SVC_STORE_BUSY: [503, "Another process holds the database {file}; end it or try again."],
  SVC_STORE_FULL: [507, "The disk of {file} is full: nothing was stored. Free some room, or shorten what is kept; deleting still works."],
  SVC_STORE_FAILED: [503, "The database {file} failed ({reason}) and takes nothing more; check the disk, then start the daemon again."],
  SVC_STORE_CORRUPT: [500, "The database {file} is damaged ({reason}). It was left as it is: look at it with `svc db check` and restore a copy."],
  SVC_STORE_EMPTIED: [
    500,
    "The database {file} is empty (0 bytes), and {beside} beside it shows that it was not: its state is lost. Put a backup in its place with svc restore <folder>, or begin without any: rm {remove}",
  ],
  SVC_STORE_NEWER: [500, "The database {file} has version {found}, newer than this program's {known}; start the newer program, migrations only go forward."],
  SVC_STORE_DRIVER: [
    500,
    "The SQLite library does not run under Node.js {node} ({reason}); install svc again with this Node.js, or have the library built anew: npm rebuild better-sqlite3, in the folder above {folder}.",
  ],
  SVC_STORE_CLOSED: [503, "The store is closed; the daemon is stopping."],
  SVC_STORE_NAME: [400, "'{name}' is no name for stored state: lower-case letters, digits and '-', '_', '.', starting with a letter or digit."],
  SVC_STORE_INDEX: [400, "'{field}' is no declared index of {collection}; declare it in `indexes` where the collection is opened."],
  SVC_STORE_CURSOR: [400, "The document '{key}' to continue after is no longer in {collection}; start the list again."],
  SVC_STORE_VALUE: [400, "The value for {collection} '{key}' cannot be stored as JSON: {reason}."],
  SVC_BACKUP_FAILED: [500, "The database {file} could not be copied to {target}: {reason}."],
} as const satisfies Record<string, readonly [status: number, message: string]>;

/** Makes the error of a code, its message filled from the facts. */
export const fail = errorTable(ERRORS);
