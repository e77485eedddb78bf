// SPDX-License-Identifier: Apache-2.0
// The files of a bundle, and the README that says what they are and what is missing.
import type { StatusEvidence } from '../../../pkg/diagnosis/status/evidence.ts';
import type { StatusReport } from '../../../pkg/diagnosis/status/types.ts';
import type { Fields } from '../../../pkg/diagnosis/project/fields.ts';
import { renderJson } from '../../../pkg/report/json.ts';
import { renderStatus } from '../../../pkg/report/status.ts';
import { observationsObject } from '../status/observations.ts';
import type { Keeper } from './keeper.ts';
import type { Logs } from './logs.ts';
import { maskText, maskValue } from './mask.ts';
import type { TarEntry } from './tar.ts';

/** Everything is in one folder, so that unpacking litters nothing. */
export const FOLDER = 'topology-status';

export interface Contents {
  readonly evidence: StatusEvidence;
  readonly report: StatusReport;
  readonly kept: Keeper;
  readonly logs: Logs;
}

const COLUMNS = 100;

/** Of kinds in English: none of ours ends in anything but these. */
const pluralOf = (kind: string): string => kind.toLowerCase().replace(/y$/, 'ie').concat('s');

const listOf = (items: readonly Fields[]): object => ({ apiVersion: 'v1', kind: 'List', items });

const WHAT = `What kubectl topology status saw, for a bug report.

status.txt         the screen
status.json        the same for programs
observations.json  what objects cannot tell: time, dry runs, certificates, what was not seen
<kind>.json        the objects it was judged by
logs/              the last lines of the Pods

Look at it: kubectl topology status -f FILE, and as if it were the cluster
            kubectl topology audit -f FILE, kubectl topology explain NAMESPACE/NAME -f FILE

Left out on purpose: Secrets, tokens, keys and kubeconfigs; environments, arguments and volumes of Pods; annotations but
for those of routing; managed fields; caBundles but for fingerprint and end; provider configuration of Extensions;
Services and slices that have nothing to do with us. In what is kept, text that looks like a secret is masked. Look
through it before you pass it on: names of namespaces, Services and Nodes and their addresses are in it.
`;

const missingText = ({ report, kept, logs }: Contents): string => {
  const lines = [
    ...report.unseen.map(({ what, why }) => `${what}: ${why}`),
    ...kept.leftOut().map((text) => `too many: ${text}`),
    ...logs.leftOut,
  ];
  return lines.length === 0
    ? 'Nothing else is missing.\n'
    : `Missing:\n${lines.map((each) => `- ${maskText(each)}\n`).join('')}`;
};

/** `FOLDER/name`, every text in it masked. */
export const bundleEntries = (contents: Contents): TarEntry[] => {
  const { evidence, report, kept, logs } = contents;
  const screen = renderStatus(report, { color: false, wide: true, columns: COLUMNS });
  const files: (readonly [string, string])[] = [
    ['README.txt', `${WHAT}\n${missingText(contents)}`],
    ['status.txt', maskText(screen)],
    ['status.json', renderJson(maskValue(report))],
    ['observations.json', renderJson(maskValue(observationsObject(evidence)))],
    ...[...kept.objects()]
      .filter(([, items]) => items.length > 0)
      .map(([kind, items]) => [`${pluralOf(kind)}.json`, renderJson(listOf(items))] as const),
    ...logs.logs.map(({ name, text }) => [`logs/${name}`, text] as const),
  ];
  return files.map(([name, text]) => ({ name: `${FOLDER}/${name}`, content: Buffer.from(text) }));
};
