import { PageHead } from "../../kit/page-head.tsx";

/** The page `/tasks/<id>`. */
export default function TaskPage() {
  return <PageHead title="Task" crumbs={[{ label: "Tasks", to: "/tasks" }]} />;
}
