import { channelError, type Forge, type ForgeCaller, type ForgePlace, type ForgeReviewDraft } from "@svc/sdk";
import { type Api, at } from "./client.ts";
import type { Calling } from "./forge.ts";
import type { Identities } from "./identities.ts";
import type { Labels } from "./labels.ts";
import { fieldsOf, numberOf, pathOf, positionOf, textOf, timeOf, webAddress } from "./shapes.ts";

interface Parts {
  readonly api: Api;
  readonly call: Calling;
  readonly labels: Labels;
  readonly identities: Identities;
}

/** A review that broke off is given again within this time. */
const LATELY_MS = 3_600_000;

/** Operations beside comments: labels, merge requests, reviews. */
export function createRequests({ api, call, labels, identities }: Parts): Pick<Forge, "label" | "openRequest" | "review"> {
  return {
    async label(place, { add, remove }, as, signal) {
      if (place.kind === "commit") throw channelError("permanent", "a commit has no labels");
      await labels.require(place.project.id, [...add, ...remove], identities.tokenOf(as.agent), signal);
      const body = { ...(add.length === 0 ? {} : { add_labels: add.join(",") }), ...(remove.length === 0 ? {} : { remove_labels: remove.join(",") }) };
      if (Object.keys(body).length > 0) await call({ method: "PUT", path: at(...pathOf(place)), body }, as, signal);
    },
    async openRequest(project, { title, text, source, target, draft }, as, signal) {
      const into = target ?? textOf(fieldsOf((await call({ path: at("projects", project.id) }, as, signal)).body).default_branch);
      if (into === "") throw channelError("permanent", `the project ${project.path} names no default branch; name the target`);
      const path = at("projects", project.id, "merge_requests");
      const body = { source_branch: source, target_branch: into, title: draft === true ? `Draft: ${title}` : title, description: text };
      const made = await call({ method: "POST", path, body, accept: [409] }, as, signal);
      const found = made.status !== 409 ? made.body : await openOf(path, source, into);
      const { id, iid } = fieldsOf(found);
      const number = numberOf(iid);
      if (number === undefined) throw channelError("permanent", `${api.origin} opened no merge request from ${source} into ${into}`);
      return { id: numberOf(id) ?? number, number, url: webAddress(api.home, { project, kind: "request", id: number }) };

      /** The open one of the same branches. */
      async function openOf(list: string, from: string, to: string): Promise<unknown> {
        const { body: listed } = await call({ path: list, query: { state: "opened", source_branch: from, per_page: 100 } }, as, signal);
        return (Array.isArray(listed) ? listed : []).find((one) => fieldsOf(one).target_branch === to);
      }
    },
    async review(place, { verdict, text, comments = [] }, as, signal) {
      if (place.kind !== "request") throw channelError("permanent", "only a merge request is reviewed");
      const { project, id: number } = place;
      const whole: ForgePlace = { project, kind: "request", id: number };
      const path = pathOf(whole);
      const { sha, diff_refs: refs } = comments.length === 0 && verdict !== "approve" ? {} : fieldsOf((await call({ path: at(...path) }, as, signal)).body);
      // Notes at lines cannot be internal: an internal review puts them into the summary.
      const inside = place.internal === true;
      const there = comments.length === 0 || inside ? new Set<string>() : await lately(path, as, signal);
      const left: string[] = [];
      for (const comment of comments) {
        const { line, text: said } = comment;
        // The path comes from a model: it must not start a line of its own.
        const file = comment.path.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}`]/gu, "");
        // A review that broke off is given again.
        if (there.has(`${file}:${line}:${said.trim()}`)) continue;
        const body = { body: said, position: positionIn({ ...comment, path: file }, fieldsOf(refs)) };
        const made = inside ? undefined : await call({ method: "POST", path: at(...path, "discussions"), body, accept: [400, 422] }, as, signal);
        // The forge accepts only lines of the diff: comments on others go into the summary.
        if (made?.status !== 201) left.push(`\`${file}:${line}\`: ${said}`);
      }
      if (verdict === "approve") await approve(path, textOf(sha), as, signal);
      const head = { approve: "**Approved.**", request_changes: "**Changes requested.**", comment: "" }[verdict];
      // The words themselves stay last: they may end with a signature.
      const words = [head, ...left, text].filter((part) => part !== "").join("\n\n");
      const id =
        words === ""
          ? undefined
          : numberOf(
              fieldsOf(
                (await call({ method: "POST", path: at(...path, "notes"), body: { body: words, ...(inside ? { internal: true } : {}) } }, as, signal)).body,
              ).id,
            );
      return { id: id ?? number, url: webAddress(api.home, whole, id) };
    },
  };

  /** Returns the agent's recent comments at lines of a request: file, line and text. */
  async function lately(path: readonly string[], as: ForgeCaller, signal: AbortSignal): Promise<ReadonlySet<string>> {
    const { body } = await call({ path: at(...path, "notes"), query: { order_by: "created_at", sort: "desc", per_page: 100 } }, as, signal);
    const said = new Set<string>();
    for (const value of Array.isArray(body) ? body : []) {
      const { body: words, position, created_at: time, author } = fieldsOf(value);
      const where = positionOf(position);
      const own = identities.owners().some(({ user, token }) => token === identities.tokenOf(as.agent) && user.id === numberOf(fieldsOf(author).id));
      if (own && where !== undefined && (timeOf(time) ?? 0) > Date.now() - LATELY_MS) said.add(`${where.path}:${where.line}:${textOf(words).trim()}`);
    }
    return said;
  }

  /** Only what was looked at: a push in between is not approved with it. */
  async function approve(path: readonly string[], sha: string, as: ForgeCaller, signal: AbortSignal): Promise<void> {
    const { status } = await call({ method: "POST", path: at(...path, "approve"), body: sha === "" ? {} : { sha }, accept: [401] }, as, signal);
    if (status !== 401) return;
    // So the forge answers for a user who may not approve, and for one who has done so.
    const { body } = await call({ path: at(...path, "approvals") }, as, signal);
    if (fieldsOf(body).user_has_approved !== true)
      throw Object.assign(channelError("permanent", `the user of ${as.agent} may not approve this merge request: it is its own, or its role is too low`), {
        status: 403,
      });
  }
}

type LineComment = NonNullable<ForgeReviewDraft["comments"]>[number];

function positionIn({ path, line, side = "new" }: LineComment, { base_sha, head_sha, start_sha }: Readonly<Record<string, unknown>>): object {
  return {
    position_type: "text",
    base_sha,
    head_sha,
    start_sha,
    old_path: path,
    new_path: path,
    ...(side === "old" ? { old_line: line } : { new_line: line }),
  };
}
