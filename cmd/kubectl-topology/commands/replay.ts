// SPDX-License-Identifier: Apache-2.0
// `kubectl topology replay`: what the closed loop would have decided on observations, one JSON line each.
import { parseObservation } from '../../../pkg/flow/loop/parse-observation.ts';
import { DEFAULT_LOOP_POLICY } from '../../../pkg/flow/loop/policy.ts';
import { step } from '../../../pkg/flow/loop/step.ts';
import type { LoopDecision, LoopState } from '../../../pkg/flow/loop/types.ts';
import { topologyCommand } from '../command.ts';

const shown = ({ time, changed, spread, endpoints, demand, inZoneShare, reason }: LoopDecision): object => ({
  time,
  changed,
  spread,
  endpoints,
  demand,
  inZoneShare,
  reason,
});

export const replay = topologyCommand<Record<string, never>>({
  name: 'replay',
  summary: 'What the closed loop decides on observations: JSON lines in, JSON lines out',
  examples: [['Observations that were kept in a file', 'replay < observations.jsonl']],
  define() {
    // Standard input is all it takes.
  },
  async run(io) {
    let state: LoopState | undefined;
    let line = 0;
    for await (const text of io.lines()) {
      line += 1;
      if (text.trim() === '') continue;
      const parsed = parseObservation(text);
      if (parsed.kind === 'invalid') {
        const { field, message } = parsed;
        io.out.write(`${JSON.stringify({ error: { line, field, message } })}\n`);
        continue;
      }
      const next = step(DEFAULT_LOOP_POLICY, state, parsed.observation);
      ({ state } = next);
      io.out.write(`${JSON.stringify(shown(next.decision))}\n`);
    }
    return 0;
  },
});
