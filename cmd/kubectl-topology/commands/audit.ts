// `kubectl topology audit`: all Services of a cluster, worst first, what crosses zones altogether, and what would be saved.
import { type Command, Option } from 'commander';
import { defined } from '../../../pkg/apis/values.ts';
import {
  audit as auditCluster,
  auditFindings,
  AUDIT_REASONS,
  type AuditReport,
} from '../../../pkg/diagnosis/audit/audit.ts';
import type { Bill } from '../../../pkg/diagnosis/audit/service.ts';
import { SORT_KEYS, type SortKey, sortServices } from '../../../pkg/diagnosis/audit/sum.ts';
import { tariffOf } from '../../../pkg/diagnosis/prices.ts';
import { type ClusterSnapshot, type CollectionName, itemsOf } from '../../../pkg/diagnosis/snapshot.ts';
import { renderAudit } from '../../../pkg/report/audit.ts';
import { type FindingsFormat, addFindingsOutput, printFindings, writePage } from '../output.ts';
import { type Io, UsageError, topologyCommand, wantsColor } from '../io.ts';
import { addProxyFlags, failOnReasons, statedBy } from '../model-flags.ts';
import { type PriceFlags, addInputFlags, addPriceFlags, addVersionFlags, readPrices } from '../flags.ts';
import { addMeasuredFlags, readMeasured } from '../measured-flags.ts';
import { load } from '../session.ts';
import { type WithoutFlags, addWithoutFlags, answerWithout } from '../without.ts';

interface Flags extends Omit<WithoutFlags, 'output'>, PriceFlags {
  output: FindingsFormat;
  sortBy: SortKey;
  reverse?: boolean;
  failOn?: readonly string[];
  html?: string;
}

/** Pods and events are as many as all else together and change no cause: explain reads those of one namespace. */
const NEEDS: readonly CollectionName[] = [
  'nodes',
  'services',
  'slices',
  'workloads',
  'autoscalers',
  'webhooks',
  'routers',
  'ingresses',
];

const define = (command: Command): void => {
  addVersionFlags(addProxyFlags(addInputFlags(command, true)), 'the control plane and of every proxy');
  addMeasuredFlags(addPriceFlags(addWithoutFlags(addFindingsOutput(command)), 'all audited Services together'));
  command
    .addOption(new Option('--sort-by <order>', 'order of the Services').choices(SORT_KEYS).default('worst'))
    .option('--reverse', 'reverse the order')
    .option('--html <file>', 'also write one self-contained page: heat map, Services with cause and remedy, savings')
    .option(
      '--fail-on <what>',
      'exit code 1 on "any" cause, if a Service that asks is "ineffective", or on these reasons (comma-separated)',
      failOnReasons(Object.keys(AUDIT_REASONS)),
    );
};

const billOf = async (snapshot: ClusterSnapshot, flags: Flags, io: Io): Promise<Bill | undefined> => {
  const { gbPerDay, prices } = flags;
  const measured = await readMeasured(snapshot, flags, io);
  if (measured === undefined && gbPerDay === undefined) return undefined;
  const tariff = tariffOf(await readPrices(prices), itemsOf(snapshot.nodes));
  return measured === undefined ? { tariff, gigabytesPerDay: gbPerDay ?? 0 } : { tariff, measured };
};

const ordered = (report: AuditReport, { sortBy, reverse = false }: Flags): AuditReport => {
  const services = sortServices(report.services, sortBy);
  return { ...report, services: reverse ? services.reverse() : services };
};

const fails = ({ services, findings }: AuditReport, failOn: readonly string[] | undefined): boolean => {
  if (failOn === undefined) return false;
  const seen = findings.filter(({ certainty }) => certainty === 'seen').map(({ reason }) => reason);
  const causes = services.flatMap(({ cause, alsoFound }) => [...(cause === null ? [] : [cause.reason]), ...alsoFound]);
  const reasons: readonly string[] = [...seen, ...causes];
  if (failOn.includes('any') && (reasons.length > 0 || services.some(({ verdict }) => verdict !== 'Effective'))) {
    return true;
  }
  if (failOn.includes('ineffective') && services.some(({ verdict }) => verdict === 'Ineffective')) return true;
  return reasons.some((reason) => failOn.includes(reason));
};

export const audit = topologyCommand<Flags>({
  name: 'audit',
  summary: 'All Services, worst first: what crosses zones, by which cause, and what would be saved',
  examples: [
    ['The whole cluster', 'audit'],
    ['One HTML page with costs, to share', 'audit --gb-per-day 2500 --prices aws --html audit.html'],
    ['What crossing costs by the bytes that the traffic-meters measured', 'audit --measured --prices aws'],
    ['The same from Prometheus, over the last week', 'audit --prometheus monitoring/prometheus:9090 --window 168h'],
    [
      'Without a cluster',
      'audit -f cluster.json --sort-by saving   # kubectl get nodes,services,endpointslices -A -o json > cluster.json',
    ],
    ['Would we survive losing this zone? Per Service, with replicas to add; exit code 1: no', 'audit --without eu-1a'],
    [
      'In a pipeline: exit code 1 if a Service requests routing by zone without effect',
      'audit -n shop --fail-on ineffective',
    ],
  ],
  define,
  async run(io, flags) {
    const everywhere = flags.namespace === undefined;
    const input = { ...flags, allNamespaces: everywhere || flags.allNamespaces === true };
    if (flags.without !== undefined) {
      const { output } = flags;
      if (output === 'sarif') throw new UsageError(`--without has no output ${output}`);
      return answerWithout(io, { ...input, output }, flags.without);
    }
    const loaded = await load(input, NEEDS, io);
    const { snapshot, namespace } = loaded;
    if (snapshot.services.kind === 'unknown') throw new UsageError(`Services cannot be read: ${snapshot.services.why}`);
    const bill = await billOf(snapshot, flags, io);
    const report = auditCluster(snapshot, {
      now: io.now(),
      ...statedBy(flags),
      ...defined({ namespace, bill }),
    });
    const sorted = ordered(report, flags);
    const findings = auditFindings(sorted, flags.filename?.[0]);
    await printFindings(io, flags.output, { report: sorted, findings }, (wide) =>
      renderAudit(sorted, { wide, color: wantsColor(io), columns: io.out.columns }),
    );
    if (flags.html !== undefined) {
      const { renderAuditPage } = await import('../../../pkg/report/html/audit-page.ts');
      await writePage(renderAuditPage(report, { now: io.now() }), flags.html, io);
    }
    return fails(report, flags.failOn) ? 1 : 0;
  },
});
