// The benchmark table of the README, from the last kept results of test/bench.
import type { Cell, WebhookResults } from '../../test/bench/webhook/types.ts';
import type { ShootsStep } from '../../test/e2e/scale-figures.ts';
import { readResults } from './results.ts';
import type { Generator } from './types.ts';

const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;
const rate = (value: number): string => Math.round(value).toLocaleString('en-US');

const rowOf = ({ endpoints, measurements: { webhook, go }, ratiosToGo }: Cell): string => {
  if (webhook === undefined) throw new Error('test/bench/results/webhook.json has no figures of the webhook');
  const peer =
    go === undefined
      ? ['–', '–', '–']
      : [rate(go.requestsPerSecond), `${go.p99Ms.toFixed(0)} ms`, megabytes(go.residentBytes)];
  const ratio = ratiosToGo.webhook?.requestsPerSecond.toFixed(1) ?? '–';
  const own = [rate(webhook.requestsPerSecond), `${webhook.p99Ms.toFixed(0)} ms`, megabytes(webhook.residentBytes)];
  return `| ${rate(endpoints)} | ${own[0]} | ${peer[0]} | ${ratio} × | ${own[1]} / ${peer[1]} | ${own[2]} / ${peer[2]} |`;
};

const webhookTable = (): string[] => {
  const { cells, environment, peer, connections, start } = readResults<WebhookResults>('bench', 'webhook');
  return [
    `Admission of a slice whose hints must all be written, one core, TLS, ${connections} connections, logging and metrics on, beside a`,
    `program on controller-runtime's admission server (${peer}) in the same run (${environment.date}; one run: on other and on busy machines it was 1.6 to 5.4, 5.1 to 10.4 and 5.5 to 9.4 times):`,
    '',
    '| endpoints | requests/s | Go peer | ratio | p99 webhook / Go | resident webhook / Go |',
    '|---:|---:|---:|---:|---:|---:|',
    ...cells.filter(({ scenario }) => scenario === 'write').map(rowOf),
    '',
    `From start to the first answer: ${Math.round(start.webhook?.medianMs ?? 0)} ms (Go: ${Math.round(start.go?.medianMs ?? 0)} ms).`,
  ];
};

const reconcilerLine = (): string => {
  const [step] = readResults<readonly ShootsStep[]>('e2e', 'scale-shoots');
  if (step === undefined) throw new Error('test/e2e/results/scale-shoots.json has no run');
  const total = (kind: string): string => rate(step.phases.reduce((sum, { writes }) => sum + (writes[kind] ?? 0), 0));
  return (
    `Settings of ${rate(step.shoots)} shoots on a real API server: flipping the Seed's setting costs ${total('patch services')} Service patches, ` +
    `${total('patch namespaces')} label patches and ${total('create events')} events, and ${total('patch endpointslices')} no-op writes to slices; ` +
    `a restart patches none; ${megabytes(Math.max(...step.phases.map(({ peakBytes }) => peakBytes)))} at the most.`
  );
};

export const benchmarks: Generator = {
  path: 'README.md',
  section: 'benchmarks',
  render: () =>
    [
      ...webhookTable(),
      '',
      reconcilerLine(),
      '',
      'How it is measured, and the other tables: [benchmarks](docs/development/benchmarks.md).',
    ].join('\n'),
};
