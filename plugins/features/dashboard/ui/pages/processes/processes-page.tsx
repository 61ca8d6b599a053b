import { PageHead } from "../../kit/page-head.tsx";

/** The page `/processes`. */
export default function ProcessesPage() {
  return <PageHead title="Processes" />;
}
