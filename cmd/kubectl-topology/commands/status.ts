// SPDX-License-Identifier: Apache-2.0
// `kubectl topology status`: what is installed, whether it works, and what went wrong last, on one screen or as a bundle.
import { InvalidArgumentError } from 'commander';
import { defined } from '../../../pkg/apis/defined.ts';
import type { StatusEvidence } from '../../../pkg/diagnosis/status/evidence.ts';
import { status as statusOf } from '../../../pkg/diagnosis/status/status.ts';
import type { StatusReport } from '../../../pkg/diagnosis/status/types.ts';
import { renderStatus } from '../../../pkg/report/status.ts';
import { topologyCommand } from '../command.ts';
import { UsageError } from '../errors.ts';
import { addInputFlags, addOutputFlag } from '../flags.ts';
import type { InputFlags, OutputFlags } from '../flags.ts';
import { wantsColor } from '../io.ts';
import type { Io } from '../io.ts';
import { print } from '../print.ts';
import { checkInputFlags, withConnection } from '../session.ts';

interface Flags extends InputFlags, OutputFlags {
  /** `--no-probe` makes it false. */
  probe: boolean;
  events: number;
  bundle?: string;
  force?: boolean;
}

const DEFAULT_EVENTS = 5;
const MAX_EVENTS = 1_000;

const countFlag = (text: string): number => {
  const count = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  if (count <= MAX_EVENTS) return count;
  throw new InvalidArgumentError(`expected a number up to ${MAX_EVENTS}.`);
};

const fromFiles = async (paths: readonly string[], { namespace }: Flags, io: Io): Promise<StatusEvidence> => {
  const { statusFromFiles } = await import('../status/from-files.ts');
  return statusFromFiles({ paths, namespace, now: io.now(), readStdin: () => io.readStdin() });
};

const reportOf = (evidence: StatusEvidence, flags: Flags): StatusReport => statusOf(evidence, { events: flags.events });

/** Reads the cluster, and writes the bundle while the connection is there: logs come last. */
const fromCluster = async (flags: Flags, io: Io): Promise<StatusReport> => {
  const { bundle, force = false, namespace, probe } = flags;
  const [{ gatherStatus }, bundling] = await Promise.all([
    import('../status/gather.ts'),
    bundle === undefined
      ? undefined
      : import('../bundle/bundle.ts').then(({ openBundle }) => openBundle(bundle, force)),
  ]);
  return withConnection(flags, io, async ({ client }, onProgress) => {
    const evidence = await gatherStatus({
      client,
      namespace,
      probe,
      now: () => io.now(),
      keep: (object) => bundling?.keep(object),
      ...defined({ onProgress }),
      signal: io.signal,
    });
    const report = reportOf(evidence, flags);
    await bundling?.write({ client, evidence, report, signal: io.signal });
    return report;
  });
};

const EXIT_CODES = { Healthy: 0, Degraded: 1, NotInstalled: 3 } as const;

export const status = topologyCommand<Flags>({
  name: 'status',
  summary: 'What is installed, whether it works, and what went wrong last',
  examples: [
    ['One screen; exit code 1 if something is wrong, 3 if nothing is installed', 'status'],
    ['For a bug report: the same, with the objects it is based on; without secrets', 'status --bundle status.json'],
    ['From a bundle that someone else sent', 'status -f status.json'],
  ],
  define(command) {
    addOutputFlag(addInputFlags(command, true))
      .option('--no-probe', 'do not try admission by creating an EndpointSlice as a dry run')
      .option('--events <number>', 'how many of the last warnings to show', countFlag, DEFAULT_EVENTS)
      .option('--bundle <file>', 'also write a JSON file with objects, events and logs; secrets are left out')
      .option('--force', 'replace the file of --bundle where it exists');
  },
  async run(io, flags) {
    checkInputFlags(flags);
    if (flags.bundle !== undefined && flags.filename !== undefined) {
      throw new UsageError('--bundle is taken from a cluster: leave out --filename');
    }
    const report =
      flags.filename === undefined
        ? await fromCluster(flags, io)
        : reportOf(await fromFiles(flags.filename, flags, io), flags);
    await print(io, flags.output, report, (wide) =>
      renderStatus(report, { wide, color: wantsColor(io), columns: io.out.columns }),
    );
    if (flags.bundle !== undefined) io.err.write(`wrote ${flags.bundle}\n`);
    return EXIT_CODES[report.verdict];
  },
});
