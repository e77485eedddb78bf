// `kubectl topology explain`: is routing by zone wanted, given, used and effective; and if not, why.
import { explain as explainService } from '../../../pkg/diagnosis/explain/explain.ts';
import { explainTraffic } from '../../../pkg/diagnosis/audit/audit.ts';
import { tariffOf } from '../../../pkg/diagnosis/prices.ts';
import { itemsOf } from '../../../pkg/diagnosis/snapshot.ts';
import { renderExplanation } from '../../../pkg/report/explanation.ts';
import { topologyCommand, wantsColor } from '../io.ts';
import { EXPLAIN_NEEDS, addExplainFlags, explainOptions, failOnFlag, failsOn } from '../model-flags.ts';
import type { ExplainFlags } from '../model-flags.ts';
import { findService, inNamespaceOf, load, nameOfService, withFurtherObjects } from '../session.ts';
import { type OutputFlags, type PriceFlags, addOutputFlag, addPricesFlag, readPrices } from '../flags.ts';
import { type MeasuredFlags, addMeasuredFlags, readMeasured } from '../measured-flags.ts';
import { print } from '../output.ts';

interface Flags extends ExplainFlags, OutputFlags, MeasuredFlags, Pick<PriceFlags, 'prices'> {
  failOn?: readonly string[];
}

export const explain = topologyCommand<Flags>({
  name: 'explain',
  summary:
    'Why traffic to a Service crosses zones: wanted, given, used, effective, and the first cause with its remedy',
  examples: [
    ['One screen', 'explain web -n shop'],
    ['With the bytes that the traffic-meters measured, and what they cost', 'explain web -n shop --measured'],
    ['From files', 'explain shop/web -f cluster.yaml'],
    [
      'In a pipeline: exit code 1 unless every client zone keeps its traffic',
      'explain shop/web --fail-on ineffective -o json',
    ],
  ],
  define(command) {
    addOutputFlag(addExplainFlags(command.argument('<service>', 'NAME or NAMESPACE/NAME'))).option(
      '--fail-on <what>',
      'exit code 1 on "any" cause, if "ineffective", or on these reasons (comma-separated)',
      failOnFlag,
    );
    addPricesFlag(addMeasuredFlags(command));
  },
  async run(io, flags, [name = '']) {
    const loaded = await load(inNamespaceOf(flags, name), EXPLAIN_NEEDS, io, nameOfService(name));
    const service = findService(loaded, name);
    const snapshot = await withFurtherObjects(loaded.snapshot, service, flags, io);
    const options = explainOptions(flags, io);
    const report = explainService(snapshot, service, options);
    const traffic = await readMeasured(snapshot, flags, io);
    const measured =
      traffic === undefined
        ? undefined
        : explainTraffic(snapshot, service, options, {
            tariff: tariffOf(await readPrices(flags.prices), itemsOf(snapshot.nodes)),
            measured: traffic,
          });
    await print(io, flags.output, measured === undefined ? report : { ...report, measured }, (wide) =>
      renderExplanation(report, { wide, color: wantsColor(io), columns: io.out.columns }, measured),
    );
    const reasons = report.causes.map(({ reason }) => reason);
    return failsOn(flags.failOn, { reasons, effective: report.effective.effective }) ? 1 : 0;
  },
});
