// `kubectl topology status`: what is installed, whether it works, and what went wrong last, on one screen.
import { InvalidArgumentError } from 'commander';
import { defined } from '../../../pkg/apis/values.ts';
import { status as statusOf } from '../../../pkg/diagnosis/status/status.ts';
import type { StatusReport } from '../../../pkg/diagnosis/status/types.ts';
import { renderStatus } from '../../../pkg/report/status.ts';
import { type Io, topologyCommand, wantsColor } from '../io.ts';
import { addClusterFlags } from '../evacuation/flags.ts';
import { type InputFlags, type OutputFlags, addOutputFlag } from '../flags.ts';
import { print } from '../output.ts';
import { checkInputFlags, withConnection } from '../session.ts';

interface Flags extends InputFlags, OutputFlags {
  /** `--no-probe` makes it false. */
  probe: boolean;
  events: number;
}

const DEFAULT_EVENTS = 5;
const MAX_EVENTS = 1_000;

const countFlag = (text: string): number => {
  const count = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  if (count <= MAX_EVENTS) return count;
  throw new InvalidArgumentError(`expected a number up to ${MAX_EVENTS}.`);
};

const readStatus = async ({ events, ...flags }: Flags, io: Io): Promise<StatusReport> => {
  const { gatherStatus } = await import('../gather-status.ts');
  const { namespace, probe } = flags;
  const evidence = await withConnection(flags, io, ({ client }, onProgress) =>
    gatherStatus({ client, namespace, probe, now: () => io.now(), ...defined({ onProgress }), signal: io.signal }),
  );
  return statusOf(evidence, { events });
};

const EXIT_CODES = { Healthy: 0, Degraded: 1, NotInstalled: 3 } as const;

export const status = topologyCommand<Flags>({
  name: 'status',
  summary: 'What is installed, whether it works, and what went wrong last',
  examples: [
    ['One screen; exit code 1 if something is wrong, 3 if nothing is installed', 'status'],
    ['For a bug report: the same as text, and the objects, without secrets', 'snapshot > cluster.json'],
  ],
  define(command) {
    addOutputFlag(addClusterFlags(command))
      .option('-n, --namespace <namespace>', 'namespace of the installation; default: all')
      .option('-A, --all-namespaces', 'all namespaces, which is the default')
      .option('--no-probe', 'do not try admission by creating an EndpointSlice as a dry run')
      .option('--events <number>', 'how many of the last warnings to show', countFlag, DEFAULT_EVENTS);
  },
  async run(io, flags) {
    checkInputFlags(flags);
    const report = await readStatus(flags, io);
    await print(io, flags.output, report, (wide) =>
      renderStatus(report, { wide, color: wantsColor(io), columns: io.out.columns }),
    );
    return EXIT_CODES[report.verdict];
  },
});
