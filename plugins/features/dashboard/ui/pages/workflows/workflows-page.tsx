import { PageHead } from "../../kit/page-head.tsx";

/** The page `/workflows`. */
export default function WorkflowsPage() {
  return <PageHead title="Workflows" />;
}
