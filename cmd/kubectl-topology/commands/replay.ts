// `kubectl topology replay`: what the closed loop would have decided on observations, one JSON line each.
import { ConfigError } from '../../../pkg/apis/config/config-error.ts';
import { settingsFromSpec } from '../../../pkg/flow/loop/from-spec.ts';
import type { LoopPolicy, LoopState } from '../../../pkg/flow/loop/types.ts';
import { renderJsonLine } from '../../../pkg/report/text.ts';
import { flag, topologyCommand } from '../command.ts';
import { UsageError } from '../io.ts';

const policyFrom = async (file: string | undefined): Promise<LoopPolicy> => {
  if (file === undefined) return settingsFromSpec({}).loop;
  const { readFlowPolicy } = await import('../../../pkg/apis/flow-policy.ts');
  const { readNamed } = await import('../input/files.ts');
  const text = (await readNamed(file)).toString('utf8');
  try {
    return settingsFromSpec(readFlowPolicy(text, file).spec ?? {}).loop;
  } catch (error) {
    if (error instanceof ConfigError) throw new UsageError(error.message);
    throw error;
  }
};

export const replay = topologyCommand({
  name: 'replay',
  hidden: true,
  summary: 'What the closed loop decides on observations: JSON lines in, JSON lines out',
  examples: [
    ['Observations from a file', 'replay < observations.jsonl'],
    ['What another policy would have done', 'replay --policy flowpolicy.yaml < observations.jsonl'],
  ],
  flags: { policy: flag('--policy <file>', 'FlowPolicy (YAML or JSON) whose spec is used; default: an empty one') },
  async run(io, { policy: file }) {
    // With the YAML parser and JSON Schema they would nearly double the start of every command.
    const [policy, { parseObservation }, { step }] = await Promise.all([
      policyFrom(file),
      import('../../../pkg/flow/loop/parse-observation.ts'),
      import('../../../pkg/flow/loop/step.ts'),
    ]);
    let state: LoopState | undefined;
    let line = 0;
    for await (const text of io.lines()) {
      line += 1;
      if (text.trim() === '') continue;
      const parsed = parseObservation(text);
      if (parsed.kind === 'invalid') {
        const { field, message } = parsed;
        io.out.write(renderJsonLine({ error: { line, field, message } }));
        continue;
      }
      const next = step(policy, state, parsed.observation);
      ({ state } = next);
      const { time, changed, spread, endpoints, demand, inZoneShare, reason } = next.decision;
      io.out.write(renderJsonLine({ time, changed, spread, endpoints, demand, inZoneShare, reason }));
    }
    return 0;
  },
});
