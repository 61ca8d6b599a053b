import { svcError } from "@svc/sdk";
import { checkDeclared, type Refuse } from "./fields.ts";
import type { Input, Value } from "./inputs.ts";
import { type JsonBody, jsonFits, parseJsonBody, renderJsonBody } from "./json-body.ts";
import { namesOf, type Part, parseTemplate, render } from "./template.ts";

/** An HTTP call. */
export interface HttpWork {
  readonly kind: "http";
  readonly url: readonly Part[];
  readonly method: readonly Part[];
  readonly headers: readonly (readonly [name: string, value: readonly Part[]])[];
  readonly body?:
    | { readonly form: "json"; readonly template: JsonBody }
    | { readonly form: "urlencoded" | "text" | "fixed"; readonly template: readonly Part[] };
}

/** Request to send. */
export interface HttpCall {
  readonly url: string;
  /** Scheme, host and port as the author wrote them. */
  readonly origin: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const OWN_HEADERS = ["host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect", "keep-alive"];

/** Checks an HTTP call. No `{{name}}` may stand in scheme, host or port, and a body that takes values must be of a kind svc can escape. */
export function parseHttp(content: Record<string, unknown>, inputs: readonly Input[], refuse: Refuse): HttpWork {
  const { url, method = "GET", headers = {}, body } = content;
  if (typeof url !== "string") refuse("url", "must be text");
  if (typeof method !== "string") refuse("method", "must be text");
  if (body !== undefined && typeof body !== "string") refuse("body", "must be text; write JSON as one");
  if (typeof headers !== "object" || headers === null || Array.isArray(headers)) refuse("headers", "must be an object of texts");
  const address = parseTemplate(url);
  checkAddress(address, refuse);
  const verb = parseTemplate(method);
  if (verb.every(({ kind }) => kind === "text") && !METHODS.includes(method.toUpperCase())) refuse("method", `must be one of ${METHODS.join(", ")}`);
  if (body !== undefined && ["GET", "HEAD"].includes(method.toUpperCase())) refuse("body", `cannot be sent with ${method.toUpperCase()}`);
  const fields = Object.entries(headers).map(([name, value]) => {
    if (!HEADER_NAME.test(name)) refuse(`headers.${name}`, "is no name of a header");
    if (OWN_HEADERS.includes(name.toLowerCase())) refuse(`headers.${name}`, "is set by the connection itself");
    if (typeof value !== "string") refuse(`headers.${name}`, "must be text");
    return [name.toLowerCase(), parseTemplate(value)] as const;
  });
  const double = fields.find(([name], index) => fields.findIndex(([other]) => other === name) !== index);
  if (double) refuse(`headers.${double[0]}`, "is there twice");
  const parsed = body === undefined ? undefined : parseBody(body, fields, refuse);
  const bodyParts = body === undefined ? [] : parseTemplate(body);
  checkDeclared(
    [["url", address], ["method", verb], ["body", bodyParts], ...fields.map(([name, value]) => [`headers.${name}`, value] as const)],
    inputs,
    refuse,
  );
  const typeless = parsed && !fields.some(([name]) => name === "content-type");
  const type = parsed?.form === "json" ? "application/json" : "text/plain; charset=utf-8";
  return {
    kind: "http",
    url: address,
    method: verb,
    headers: typeless ? [...fields, ["content-type", parseTemplate(type)]] : fields,
    ...(parsed ? { body: parsed } : {}),
  };
}

/** Checks the static part of the address: `${BASE}/path` is only known at the call. */
function checkAddress(address: readonly Part[], refuse: Refuse): void {
  const firstInput = address.findIndex(({ kind }) => kind === "input");
  const before = render(firstInput === -1 ? address : address.slice(0, firstInput), () => "v");
  const start = address[0]?.kind === "variable" ? "v" : /^https?:\/\//i.exec(before)?.[0];
  if (start === undefined) refuse("url", "must start with http:// or https://, or with one ${VARIABLE} that does");
  if (firstInput !== -1 && !/[/?#]/.test(before.slice(start.length))) refuse("url", "has a placeholder in scheme, host or port, which no input may change");
}

function parseBody(body: string, headers: HttpWork["headers"], refuse: Refuse): NonNullable<HttpWork["body"]> {
  const type = headers.find(([name]) => name === "content-type")?.[1];
  if (type && namesOf(type, "input").length) refuse("headers.content-type", "takes no inputs");
  const parts = parseTemplate(body);
  const declared = type ? render(type, () => "").toLowerCase() : /^\s*[{["]/.test(body) ? "application/json" : "text/plain";
  if (/^application\/([a-z0-9.-]+\+)?json\b/.test(declared)) {
    const template = parseJsonBody(parts);
    if (!jsonFits(template)) refuse("body", "is not JSON once its placeholders are filled");
    return { form: "json", template };
  }
  if (declared.startsWith("application/x-www-form-urlencoded")) return { form: "urlencoded", template: parts };
  if (declared.startsWith("text/plain")) return { form: "text", template: parts };
  if (namesOf(parts, "input").length) refuse("body", `of the type '${declared}' cannot take inputs: svc escapes JSON, forms and plain text`);
  return { form: "fixed", template: parts };
}

/** Fills the call: values percent-encoded in the address, escaped in JSON, refused in headers where they hold line ends. Throws `SVC_OPERATOR_ACTION_VALUE`. */
export function fillHttp(work: HttpWork, values: ReadonlyMap<string, Value>, variable: (name: string) => string): HttpCall {
  const input = (name: string) => String(values.get(name) ?? "");
  const plain = (parts: readonly Part[]) => render(parts, (part) => (part.kind === "input" ? input(part.name) : variable(part.name)));
  const encoded = (parts: readonly Part[]) => render(parts, (part) => encodeURIComponent(part.kind === "input" ? input(part.name) : variable(part.name)));
  const { url, origin } = fillAddress(work.url, input, variable);
  const method = plain(work.method).toUpperCase();
  if (!METHODS.includes(method)) throw refused("method", `must become one of ${METHODS.join(", ")}`);
  const headers = Object.fromEntries(
    work.headers.map(([name, parts]) => {
      const value = plain(parts);
      if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) throw refused(`headers.${name}`, "would hold a line end or another character that no header takes");
      return [name, value];
    }),
  );
  if (!work.body) return { url, origin, method, headers };
  if (method === "GET" || method === "HEAD") throw refused("method", `cannot be ${method} with a body`);
  const { form, template } = work.body;
  const body = form === "json" ? renderJsonBody(template, values, variable) : form === "urlencoded" ? encoded(template) : plain(template);
  return { url, origin, method, headers, body };
}

function fillAddress(parts: readonly Part[], input: (name: string) => string, variable: (name: string) => string): { url: string; origin: string } {
  const filled = (value: (name: string) => string) =>
    render(parts, (part) => (part.kind === "input" ? encodeURIComponent(value(part.name)) : variable(part.name)));
  const [real, model] = [filled(input), filled(() => "x")].map((text) => (URL.canParse(text) ? new URL(text) : undefined));
  if (!real || !model || !/^https?:$/.test(real.protocol)) throw refused("url", "does not become an http or https address");
  const fixed = (url: URL) => JSON.stringify([url.protocol, url.host, url.username, url.password]);
  if (fixed(real) !== fixed(model)) throw refused("url", "would change its scheme, host or port by an input");
  // A value of dots alone would climb in the path, percent-encoded or not.
  if (real.pathname.split("/").length !== model.pathname.split("/").length) throw refused("url", "would change its path by an input of dots alone");
  return { url: real.href, origin: real.origin };
}

const refused = (field: string, reason: string) => svcError("SVC_OPERATOR_ACTION_VALUE", `The action's ${field} ${reason}.`, { status: 400, field });
