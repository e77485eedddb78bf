// `kubectl topology audit`: all Services of a cluster, worst first, what crosses zones altogether, and what would be saved.
import { defined } from '../../../pkg/apis/values.ts';
import { audit as auditCluster, auditFindings, AUDIT_REASONS } from '../../../pkg/diagnosis/audit/audit.ts';
import { SORT_KEYS, sortServices } from '../../../pkg/diagnosis/audit/sum.ts';
import { tariffOf } from '../../../pkg/diagnosis/prices.ts';
import { COLLECTIONS, itemsOf } from '../../../pkg/diagnosis/snapshot.ts';
import { renderAudit } from '../../../pkg/report/audit.ts';
import { choiceFlag, flag, switchFlag, topologyCommand } from '../command.ts';
import { FINDINGS_OUTPUT_FLAG, printFindings, writePage } from '../output.ts';
import { UsageError } from '../io.ts';
import { PROXY_FLAGS, failOnFlag, failsOn, statedBy } from '../model-flags.ts';
import { inputFlags, priceFlags, readPrices, versionFlags } from '../flags.ts';
import { measuredFlags, readMeasured } from '../measured-flags.ts';
import { load } from '../session.ts';
import { WITHOUT_FLAGS, answerWithout } from '../without.ts';

export const audit = topologyCommand({
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
    ['In a pipeline: exit code 1 if a Service asks for zones without effect', 'audit -n shop --fail-on ineffective'],
  ],
  flags: {
    ...inputFlags(true),
    ...PROXY_FLAGS,
    ...versionFlags(),
    ...FINDINGS_OUTPUT_FLAG,
    ...WITHOUT_FLAGS,
    ...priceFlags('all audited Services together'),
    ...measuredFlags(),
    sortBy: choiceFlag('--sort-by <order>', 'order of the Services', SORT_KEYS, 'worst'),
    reverse: switchFlag('--reverse', 'reverse the order'),
    html: flag('--html <file>', 'also write a self-contained page: heat map, Services with cause and remedy, savings'),
    failOn: failOnFlag('a Service that asks is "ineffective"', Object.keys(AUDIT_REASONS)),
  },
  async run(io, flags) {
    const { gbPerDay: gigabytesPerDay, prices, sortBy, reverse = false, html, failOn } = flags;
    const input = { ...flags, allNamespaces: flags.namespace === undefined || flags.allNamespaces === true };
    if (flags.without !== undefined) return answerWithout(io, input, flags.without);
    const { snapshot, namespace } = await load(input, COLLECTIONS, io);
    if (snapshot.services.kind === 'unknown') throw new UsageError(`Services cannot be read: ${snapshot.services.why}`);
    const measured = await readMeasured(snapshot, flags, io);
    const tariff = async () => tariffOf(await readPrices(prices), itemsOf(snapshot.nodes));
    const assumed = gigabytesPerDay === undefined ? undefined : { tariff: await tariff(), gigabytesPerDay };
    const bill = measured === undefined ? assumed : { tariff: await tariff(), measured };
    const fixes = flags.output === 'json' || flags.output === 'yaml';
    const options = { now: io.now(), fixes, ...statedBy(flags), ...defined({ namespace, bill }) };
    const report = auditCluster(snapshot, options);
    const services = sortServices(report.services, sortBy);
    const sorted = { ...report, services: reverse ? services.reverse() : services };
    const findings = auditFindings(sorted, flags.filename?.[0]);
    await printFindings(io, flags.output, { report: sorted, findings }, (style) => renderAudit(sorted, style));
    if (html !== undefined) {
      const { renderAuditPage } = await import('../../../pkg/report/html/audit-page.ts');
      await writePage(renderAuditPage(report, { now: io.now() }), html, io);
    }
    const found = [
      ...report.findings.filter(({ certainty }) => certainty === 'seen').map(({ reason }) => reason),
      ...services.flatMap(({ cause, alsoFound }) => [...(cause === null ? [] : [cause.reason]), ...alsoFound]),
      ...services.map(({ verdict }) => verdict.toLowerCase()).filter((verdict) => verdict !== 'effective'),
    ];
    return failsOn(failOn, found) ? 1 : 0;
  },
});
