import { request } from "../../data/request.ts";
import { reloadResource } from "../../data/resource.ts";
import { navigate } from "../../data/router.tsx";

/** Makes a draft of what a task has done and opens it in the editor. Rejects with an `ApiError`. */
export async function draftOfTask(taskId: string): Promise<void> {
  const { id } = await request<{ readonly id: string }>("POST", "/api/workflows/drafts", { taskId });
  reloadResource("/api/workflows/drafts", { prefix: true });
  navigate(`/workflows/editor?draft=${encodeURIComponent(id)}`);
}
