// `kubectl topology status`: what is installed and whether it works, on one screen.
import { defined } from '../../../pkg/apis/values.ts';
import { type StatusReport, status as statusOf } from '../../../pkg/diagnosis/status/status.ts';
import { renderStatus } from '../../../pkg/report/status.ts';
import { type Io, topologyCommand, wantsColor } from '../io.ts';
import { addClusterFlags } from '../evacuation/flags.ts';
import { type InputFlags, type OutputFlags, addOutputFlag } from '../flags.ts';
import { print } from '../output.ts';
import { checkInputFlags, withConnection } from '../session.ts';

interface Flags extends InputFlags, OutputFlags {
  /** `--no-probe` makes it false. */
  probe: boolean;
}

const readStatus = async (flags: Flags, io: Io): Promise<StatusReport> => {
  const { gatherStatus } = await import('../gather-status.ts');
  const { namespace, probe } = flags;
  const evidence = await withConnection(flags, io, ({ client }, onProgress) =>
    gatherStatus({ client, namespace, probe, now: () => io.now(), ...defined({ onProgress }), signal: io.signal }),
  );
  return statusOf(evidence);
};

const EXIT_CODES = { Healthy: 0, Degraded: 1, NotInstalled: 3 } as const;

export const status = topologyCommand<Flags>({
  name: 'status',
  summary: 'What is installed and whether it works',
  examples: [
    ['One screen; exit code 1 if something is wrong, 3 if nothing is installed', 'status'],
    ['For a bug report: the same as text, and the objects, without secrets', 'snapshot > cluster.json'],
  ],
  define(command) {
    addOutputFlag(addClusterFlags(command))
      .option('-n, --namespace <namespace>', 'namespace of the installation; default: all')
      .option('-A, --all-namespaces', 'all namespaces, which is the default')
      .option('--no-probe', 'do not try admission by creating an EndpointSlice as a dry run');
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
