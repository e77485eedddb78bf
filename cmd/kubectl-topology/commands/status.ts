// `kubectl topology status`: what is installed and whether it works, on one screen.
import { status as statusOf } from '../../../pkg/diagnosis/status/status.ts';
import { renderStatus } from '../../../pkg/report/status.ts';
import { flag, switchFlag, topologyCommand } from '../command.ts';
import { CLUSTER_FLAGS, OUTPUT_FLAG } from '../flags.ts';
import { print } from '../output.ts';
import { checkInputFlags, withReader } from '../session.ts';

const EXIT_CODES = { Healthy: 0, Degraded: 1, NotInstalled: 3 } as const;

export const status = topologyCommand({
  name: 'status',
  summary: 'What is installed and whether it works',
  examples: [
    ['One screen; exit code 1 if something is wrong, 3 if nothing is installed', 'status'],
    ['For a bug report: the same as text, and the objects, without secrets', 'snapshot > cluster.json'],
  ],
  flags: {
    ...CLUSTER_FLAGS,
    ...OUTPUT_FLAG,
    namespace: flag('-n, --namespace <namespace>', 'namespace of the installation; default: all'),
    allNamespaces: switchFlag('-A, --all-namespaces', 'all namespaces, which is the default'),
    probe: switchFlag('--no-probe', 'do not try admission by creating an EndpointSlice as a dry run'),
  },
  async run(io, flags) {
    checkInputFlags(flags);
    const { gatherStatus } = await import('../gather-status.ts');
    const { namespace, probe } = flags;
    const evidence = await withReader(flags, io, (client, onProgress) =>
      gatherStatus({ client, namespace, probe, now: () => io.now(), onProgress, signal: io.signal }),
    );
    const report = statusOf(evidence);
    await print(io, flags.output, report, (style) => renderStatus(report, style));
    return EXIT_CODES[report.verdict];
  },
});
