// `kubectl topology explain`: is routing by zone wanted, given, used and effective; and if not, why.
import { defined } from '../../../pkg/apis/values.ts';
import { explain as explainService } from '../../../pkg/diagnosis/explain/explain.ts';
import { explainTraffic } from '../../../pkg/diagnosis/audit/audit.ts';
import { evacuatedZones } from '../../../pkg/diagnosis/explain/loop.ts';
import { tariffOf } from '../../../pkg/diagnosis/prices.ts';
import { type CollectionName, EVIDENCE, OBJECTS, ROLES, itemsOf } from '../../../pkg/diagnosis/snapshot.ts';
import { renderExplanation } from '../../../pkg/report/explanation.ts';
import { switchFlag, topologyCommand } from '../command.ts';
import { PROXY_FLAGS, failOnFlag, failsOn, statedBy } from '../model-flags.ts';
import { asksForPlan, loadService } from '../session.ts';
import { OUTPUT_FLAG, PRICES_FLAG, inputFlags, readPrices, versionFlags } from '../flags.ts';
import { measuredFlags, readMeasured } from '../measured-flags.ts';
import { print } from '../output.ts';

export const explain = topologyCommand({
  name: 'explain',
  summary: 'Why traffic to a Service crosses zones: wanted, given, used, effective, the first cause and its remedy',
  examples: [
    ['One screen', 'explain web -n shop'],
    ['With the bytes that the traffic-meters measured, and what they cost', 'explain web -n shop --measured'],
    ['From files', 'explain shop/web -f cluster.yaml'],
    [
      'In a pipeline: exit code 1 unless every client zone keeps its traffic through the cluster IP',
      'explain shop/web --fail-on ineffective -o json',
    ],
  ],
  argument: ['<service>', 'NAME or NAMESPACE/NAME'],
  flags: {
    ...inputFlags(),
    ...PROXY_FLAGS,
    crossing: switchFlag(
      '--crossing',
      'traffic was measured to cross zones although everything looks right: list causes that objects cannot show',
    ),
    ...versionFlags(),
    ...OUTPUT_FLAG,
    failOn: failOnFlag('"ineffective"'),
    ...measuredFlags(),
    ...PRICES_FLAG,
  },
  async run(io, flags, name = '') {
    const { service, slices, ...read } = await loadService(flags, name, [...OBJECTS, ...EVIDENCE, ...ROLES], io);
    // For all other Services no right to read these is needed.
    const more: CollectionName[] = asksForPlan(service) ? ['flowPolicies'] : [];
    if (evacuatedZones({ slices }).length > 0) more.push('evacuations');
    const snapshot = await read.withMore(more);
    const traffic = await readMeasured(snapshot, flags, io);
    const asked = defined({ crossing: flags.crossing, measured: traffic });
    const options = { now: io.now(), ...statedBy(flags), ...asked };
    const report = explainService(snapshot, service, options);
    const tariff = async () => tariffOf(await readPrices(flags.prices), itemsOf(snapshot.nodes));
    const measured = traffic && explainTraffic(snapshot, service, options, await tariff());
    await print(io, flags.output, { ...report, ...defined({ measured }) }, (style) =>
      renderExplanation(report, style, measured),
    );
    const reasons = report.causes.map(({ reason }) => reason);
    return failsOn(flags.failOn, report.effective.effective ? reasons : [...reasons, 'ineffective']) ? 1 : 0;
  },
});
