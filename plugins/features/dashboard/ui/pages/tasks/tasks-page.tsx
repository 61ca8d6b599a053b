import { PageHead } from "../../kit/page-head.tsx";

/** The page `/tasks`. */
export default function TasksPage() {
  return <PageHead title="Tasks" />;
}
