// What the flow controller took in the last kept run of its benchmark.
import type { Environment } from '../../test/bench/environment.ts';
import { describeMachine, markdownTable } from '../../test/bench/table.ts';
import { readResults } from './results.ts';
import type { Generator } from './types.ts';

interface Results {
  readonly environment: Environment;
  readonly scale: { readonly services: number; readonly endpointsPerService: number; readonly namespaces: number };
  readonly phases: readonly {
    readonly phase: string;
    readonly seconds: number;
    readonly residentMiB: number;
    readonly peakMiB: number;
    readonly cores: number;
    readonly requests: Readonly<Record<string, number>>;
  }[];
}

const requestsOf = (requests: Readonly<Record<string, number>>): string =>
  Object.entries(requests)
    .map(([kind, count]) => `${kind} ${count.toLocaleString('en')}`)
    .join(', ');

export const flowController: Generator = {
  path: 'docs/development/benchmarks.md',
  section: 'flow-controller',
  render: () => {
    const { environment, scale, phases } = readResults<Results>('bench', 'flow-controller');
    const { services, endpointsPerService, namespaces } = scale;
    const rows = phases.map(({ phase, seconds, residentMiB, peakMiB, cores, requests }) => [
      phase,
      `${seconds.toFixed(0)} s`,
      `${residentMiB} MiB`,
      `${peakMiB} MiB`,
      cores.toFixed(2),
      requestsOf(requests),
    ]);
    return [
      describeMachine(environment),
      `${services.toLocaleString('en')} Services with ${endpointsPerService} endpoints each in ${namespaces} namespaces; samples every 15 s.`,
      markdownTable(['phase', 'took', 'resident', 'peak', 'cores', 'requests'], rows),
    ].join('\n\n');
  },
};
