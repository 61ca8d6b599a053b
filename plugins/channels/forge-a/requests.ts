import { channelError, type Forge, type ForgePlace, type ForgeReviewDraft } from "@svc/sdk";
import { type Api, at } from "./client.ts";
import type { Calling } from "./forge.ts";
import type { Identities } from "./identities.ts";
import type { Labels } from "./labels.ts";
import { fieldsOf, numberOf, pathOf, textOf, webAddress } from "./shapes.ts";

interface Parts {
  readonly api: Api;
  readonly call: Calling;
  readonly labels: Labels;
  readonly identities: Identities;
}

/** What agents do at the forge beside comments: labels, merge requests, reviews. */
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
      const path = pathOf({ ...place, thread: "" });
      const { sha, diff_refs: refs } = comments.length === 0 && verdict !== "approve" ? {} : fieldsOf((await call({ path: at(...path) }, as, signal)).body);
      const left: string[] = [];
      for (const comment of comments) {
        const made = await call(
          { method: "POST", path: at(...path, "discussions"), body: { body: comment.text, position: positionOf(comment, fieldsOf(refs)) }, accept: [400, 422] },
          as,
          signal,
        );
        // The forge takes only lines of the diff: what is said of others stands in the summary.
        if (made.status !== 201) left.push(`\`${comment.path.replaceAll("`", "")}:${comment.line}\`: ${comment.text}`);
      }
      const words = [verdict === "request_changes" ? "**Changes requested.**" : verdict === "approve" ? "**Approved.**" : "", text, ...left]
        .filter((part) => part !== "")
        .join("\n\n");
      const id =
        words === "" ? undefined : numberOf(fieldsOf((await call({ method: "POST", path: at(...path, "notes"), body: { body: words } }, as, signal)).body).id);
      // Last, and only what was looked at: a push in between is not approved with it.
      if (verdict === "approve") await call({ method: "POST", path: at(...path, "approve"), body: textOf(sha) === "" ? {} : { sha } }, as, signal);
      const whole: ForgePlace = { project: place.project, kind: "request", id: place.id };
      return { id: id ?? place.id, url: webAddress(api.home, whole, id) };
    },
  };
}

type LineComment = NonNullable<ForgeReviewDraft["comments"]>[number];

function positionOf({ path, line, side = "new" }: LineComment, { base_sha, head_sha, start_sha }: Readonly<Record<string, unknown>>): object {
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
