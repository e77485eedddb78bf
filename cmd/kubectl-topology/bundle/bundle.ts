// SPDX-License-Identifier: Apache-2.0
// A bundle from its first object to the file: a List of objects, which every command and kubectl read, and beside it the screen, the
// report and the logs.
import { randomBytes } from 'node:crypto';
import { access, link, rename, rm, writeFile } from 'node:fs/promises';
import type { StatusEvidence } from '../../../pkg/diagnosis/status/evidence.ts';
import type { StatusReport } from '../../../pkg/diagnosis/status/types.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { renderJson } from '../../../pkg/report/json.ts';
import { renderStatus } from '../../../pkg/report/status.ts';
import { UsageError } from '../errors.ts';
import { fileErrorText } from '../input/files.ts';
import { observationsObject } from '../status/observations.ts';
import { createKeeper } from './keeper.ts';
import type { Keeper } from './keeper.ts';
import { readLogs } from './logs.ts';
import type { Logs } from './logs.ts';
import { maskText, maskValue } from './mask.ts';

interface Contents {
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
const bundleContents = (contents: Contents): BundleFile => {
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

const OWNER_ONLY = 0o600;

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

const refusal = (file: string): UsageError =>
  new UsageError(`--bundle ${file}: the file exists; choose another name, or replace it with --force`);

/** Early word of what `writeWhole` would say in the end. @throws UsageError where the file exists and must not be replaced. */
export const checkFree = async (file: string, force: boolean): Promise<void> => {
  if (!force && (await exists(file))) throw refusal(file);
};

/** @throws UsageError where the file exists and must not be replaced, or cannot be written. */
export const writeWhole = async (file: string, content: string, force: boolean): Promise<void> => {
  const part = `${file}.${randomBytes(6).toString('hex')}.part`;
  try {
    await writeFile(part, content, { mode: OWNER_ONLY, flag: 'wx' });
    // A link is refused where the name is taken, a rename is not.
    await (force ? rename(part, file) : link(part, file));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') throw refusal(file);
    throw new UsageError(`--bundle ${file}: ${fileErrorText(error)}`);
  } finally {
    await rm(part, { force: true });
  }
};

export interface BundleContext {
  readonly client: Client;
  readonly evidence: StatusEvidence;
  readonly report: StatusReport;
  readonly signal: AbortSignal;
}

export interface Bundle {
  /** Takes an object as the server sent it. */
  keep(object: unknown): void;
  /** Reads the logs and writes the file. */
  write(context: BundleContext): Promise<void>;
}

/** @throws UsageError where the file exists and must not be replaced. */
export const openBundle = async (file: string, force: boolean): Promise<Bundle> => {
  await checkFree(file, force);
  const kept = createKeeper();
  return {
    keep: (object) => kept.keep(object),
    async write({ client, evidence, report, signal }) {
      const logs = await readLogs(client, evidence.pods, signal);
      const contents = bundleContents({ evidence, report, kept, logs });
      await writeWhole(file, renderJson(contents), force);
    },
  };
};
