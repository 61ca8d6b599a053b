/** The request side of the calls of a published API that `wanted` names. */
export function extract(document: object, wanted: (method: string, template: string) => boolean): object;
/** Calls that a client of the far end may try. */
export function isWanted(method: string, template: string): boolean;
