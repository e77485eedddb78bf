// SPDX-License-Identifier: Apache-2.0
// What a bundle holds: a List of objects, which every command and kubectl read, and beside it the screen, the report and the logs.
import type { StatusEvidence } from '../../../pkg/diagnosis/status/evidence.ts';
import type { StatusReport } from '../../../pkg/diagnosis/status/types.ts';
import { renderStatus } from '../../../pkg/report/status.ts';
import { observationsObject } from '../status/observations.ts';
import type { Keeper } from './keeper.ts';
import type { Logs } from './logs.ts';
import { maskText, maskValue } from './mask.ts';

export interface Contents {
  readonly evidence: StatusEvidence;
  readonly report: StatusReport;
  readonly kept: Keeper;
  readonly logs: Logs;
}

/** Texts are lists of lines, so that the file is readable. */
export interface BundleFile {
  readonly apiVersion: 'v1';
  readonly kind: 'List';
  readonly readme: readonly string[];
  /** What could not be read, or was too much. */
  readonly missing: readonly string[];
  readonly screen: readonly string[];
  /** A `StatusReport`. */
  readonly report: unknown;
  /** By `namespace/pod.log`. */
  readonly logs: Readonly<Record<string, readonly string[]>>;
  readonly items: readonly unknown[];
}

const COLUMNS = 100;

const README = `What kubectl topology status saw, for a bug report.

screen   what it printed; report: the same for programs
missing  what could not be read, or was too much
logs     the last lines of the Pods
items    the objects it is based on, and what objects do not show: time, dry runs, certificates, what was not seen

Look at it: kubectl topology status -f FILE, and as if it were the cluster
            kubectl topology audit -f FILE, kubectl topology explain NAMESPACE/NAME -f FILE

Left out on purpose: Secrets, tokens, keys and kubeconfigs; environments, arguments and volumes of Pods; annotations but
for those of routing; managed fields; caBundles but for fingerprint and end; provider configuration of Extensions;
Services and slices that have nothing to do with us. In what is kept, text that looks like a secret is masked. Look
through it before you pass it on: names of namespaces, Services and Nodes and their addresses are in it.`;

const linesOf = (text: string): string[] => text.trimEnd().split('\n');

const missingIn = ({ report, kept, logs }: Contents): string[] =>
  [
    ...report.unseen.map(({ what, why }) => `${what}: ${why}`),
    ...kept.leftOut().map((text) => `too many: ${text}`),
    ...logs.leftOut,
  ].map(maskText);

/** Every text in it is masked. */
export const bundleContents = (contents: Contents): BundleFile => {
  const { evidence, report, kept, logs } = contents;
  const screen = renderStatus(report, { color: false, wide: true, columns: COLUMNS });
  return {
    apiVersion: 'v1',
    kind: 'List',
    readme: linesOf(README),
    missing: missingIn(contents),
    screen: linesOf(maskText(screen)),
    report: maskValue(report),
    logs: Object.fromEntries(logs.logs.map(({ name, text }) => [name, linesOf(text)])),
    items: [maskValue(observationsObject(evidence)), ...[...kept.objects().values()].flat()],
  };
};
