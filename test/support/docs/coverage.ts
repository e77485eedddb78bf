// Where the commands of the documentation run. A page that stands here is run whole; every other command runs in
// test/integration/docs-commands.test.ts, or has a reason here why it is only checked there.

import { markdownPages } from './markdown.ts';

const OPERATOR = 'test/e2e/suites/operator.test.ts';
const GARDENER = 'test/e2e/suites/gardener-operations.test.ts';

/** Pages whose every block is run in order, and by what; a folder stands for its pages. */
export const PAGES_RUN: Readonly<Record<string, readonly string[]>> = {
  'docs/usage/diagnose.md': ['test/integration/docs-pages.test.ts', 'test/e2e/suites/topology.test.ts'],
  'docs/operations/alerts/': [OPERATOR, GARDENER],
  'docs/operations/evacuate.md': ['test/integration/evacuate-doc.test.ts', GARDENER],
  'docs/operations/first-hour.md': [OPERATOR, GARDENER],
  'docs/operations/install.md': [OPERATOR, GARDENER],
  'docs/usage/audit.md': [OPERATOR],
  'docs/usage/crossing-cost.md': ['test/e2e/suites/audit-measured.test.ts'],
  'docs/usage/enable.md': [OPERATOR],
  'docs/usage/extension-resource.md': ['test/e2e/suites/extension.test.ts', OPERATOR],
  'docs/usage/kubeedge.md': [OPERATOR],
  'docs/usage/load-aware.md': [OPERATOR],
  'docs/usage/migrate.md': [OPERATOR],
  'docs/usage/status.md': ['test/integration/docs-pages.test.ts', OPERATOR],
};

/** What runs a page whole; nothing where its commands are each looked at. */
export const runnersOf = (page: string): readonly string[] =>
  Object.entries(PAGES_RUN).find(([path]) => (path.endsWith('/') ? page.startsWith(path) : page === path))?.[1] ?? [];

/** Pages that a suite or test runs whole. */
export const pagesRunBy = (file: string): string[] => markdownPages().filter((page) => runnersOf(page).includes(file));

export interface CheckedOnly {
  /** What its page begins with; undefined: any. */
  readonly page?: string;
  /** What the command begins with. */
  readonly command: string;
  /** Why checking that its files, targets, scripts and flags exist has to do. */
  readonly why: string;
}

export const CHECKED_ONLY: readonly CheckedOnly[] = [
  { command: 'make', why: 'a target takes minutes, and CI runs those that matter' },
  { command: 'npm run', why: 'a script takes minutes, and CI runs those that matter' },
  { command: 'npm install gardener-extension', why: 'test/integration/package.test.ts installs the packed package' },
  { page: 'docs/operations/README.md', command: 'kubectl topology', why: 'topology-switch.test.ts runs it' },
  { page: 'example/', command: 'kubectl apply -k example/', why: 'the suite operator applies it, as install.md says' },
  {
    page: 'docs/development/release.md',
    command: 'docker buildx',
    why: 'there is no container engine; test/unit/hack/dockerfile.test.ts reads the Dockerfile',
  },
  ...['apt-get download', 'mkdir -p dist/conntrack', 'dpkg-deb --extract'].map((command) => ({
    page: 'docs/development/release.md',
    command,
    why: "test/integration/delivery.test.ts reads such folders, and the suite image runs this machine's conntrack from the layer",
  })),
  ...['skopeo copy', 'oras cp'].map((command) => ({
    page: 'docs/development/release.md',
    command,
    why: 'the suite gardener-push runs them as they stand, against a registry on the loopback interface',
  })),
  {
    page: 'docs/development/release.md',
    command: 'helm upgrade ...',
    why: 'shows one more flag; the chart suites render the digest',
  },
  {
    page: 'docs/concepts/how-it-works.md',
    command: 'kubectl annotate etcds',
    why: 'removes what only unreleased commits wrote, and nothing writes any more',
  },
  {
    page: 'docs/usage/measured-traffic.md',
    command: 'helm upgrade tar',
    why: 'the suites chart and chart-values render and apply what these values give; its image is not built here',
  },
  {
    page: 'docs/usage/measured-traffic.md',
    command: 'kubectl get flowpolicy NAME',
    why: 'the condition is read; no meter runs beside the pages',
  },
  { command: 'hack/node hack/', why: 'test/integration/{krew,delivery}.test.ts run them on bundles of their own' },
];
