// SPDX-License-Identifier: Apache-2.0
// `kubectl topology explain`: is routing by zone wanted, given, used and effective; and if not, why.
import { explain as explainService } from '../../../pkg/diagnosis/explain/explain.ts';
import { renderExplanation } from '../../../pkg/report/explanation.ts';
import { topologyCommand } from '../command.ts';
import { EXPLAIN_NEEDS, addExplainFlags, explainOptions, failOnFlag, failsOn } from '../explain-flags.ts';
import type { ExplainFlags } from '../explain-flags.ts';
import { findService, inNamespaceOf } from '../find-service.ts';
import { addOutputFlag } from '../flags.ts';
import type { OutputFlags } from '../flags.ts';
import { withFlowPolicies } from '../flow-policies.ts';
import { wantsColor } from '../io.ts';
import { print } from '../print.ts';
import { load } from '../session.ts';

interface Flags extends ExplainFlags, OutputFlags {
  failOn?: readonly string[];
}

export const explain = topologyCommand<Flags>({
  name: 'explain',
  summary:
    'Why traffic to a Service crosses zones: wanted, given, used, effective, and the first cause with its remedy',
  examples: [
    ['One screen', 'explain web -n shop'],
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
  },
  async run(io, flags, [name = '']) {
    const loaded = await load(inNamespaceOf(flags, name), EXPLAIN_NEEDS, io);
    const service = findService(loaded, name);
    const snapshot = await withFlowPolicies(loaded.snapshot, service, flags, io);
    const report = explainService(snapshot, service, explainOptions(flags, io));
    await print(io, flags.output, report, (wide) =>
      renderExplanation(report, { wide, color: wantsColor(io), columns: io.out.columns }),
    );
    const reasons = report.causes.map(({ reason }) => reason);
    return failsOn(flags.failOn, { reasons, effective: report.effective.effective }) ? 1 : 0;
  },
});
