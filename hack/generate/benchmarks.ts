// The benchmark table of the README, from the last kept results of test/bench.
import type { Cell, WebhookResults } from '../../test/bench/webhook/types.ts';
import { readResults } from './results.ts';
import type { Generator } from './types.ts';

interface ReconcilerResults {
  readonly scale: { readonly shoots: number; readonly services: number; readonly etcds: number };
  readonly phases: readonly { readonly name: string; readonly counts: Readonly<Record<string, number>> }[];
  readonly peakBytes: number;
}

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
  const { scale, phases, peakBytes } = readResults<ReconcilerResults>('bench', 'reconciler');
  const flip = phases.find(({ name }) => name === 'on')?.counts ?? {};
  const of = (name: string) => rate(flip[name] ?? 0);
  const restart = phases.find(({ name }) => name === 'restart')?.counts ?? {};
  const again = rate((restart['patch services'] ?? 0) + (restart['patch namespaces'] ?? 0));
  return (
    `Settings of ${rate(scale.shoots)} shoots, ${rate(scale.services)} Services and ${rate(scale.etcds)} Etcds: flipping the Seed's setting costs ` +
    `${of('patch services')} Service patches, ${of('patch etcds')} Etcd patches, ${of('patch namespaces')} label patches and ` +
    `${of('create events')} events, and ${of('patch endpointslices')} no-op writes to slices, which no webhook hints in this run; a restart patches ${again} Services and labels; ${megabytes(peakBytes)} at the most, one connection.`
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
