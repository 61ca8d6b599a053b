import { PageHead } from "../../kit/page-head.tsx";

/** The page `/admin`. */
export default function AdminPage() {
  return <PageHead title="Admin" />;
}
