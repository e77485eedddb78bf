// Slices and decisions for the tests of hints.
import { expect } from 'chai';
import fc from 'fast-check';
import type { Endpoint, EndpointSlice } from '../../../pkg/apis/core.ts';
import { LABEL_STRATEGY } from '../../../pkg/apis/names.ts';
import { type HintsInput, decideHints } from '../../../pkg/hints/decide.ts';

import { endpoint, slice } from '../../fixtures/core.ts';
import { applyJsonPatch } from '../../sandbox/patch-json.ts';

export const CONTROLLER = 'system:serviceaccount:kube-system:endpointslice-controller';

export const PLANNER = 'system:serviceaccount:garden:flow-controller';

export const inputOf = (object: unknown, more: Partial<HintsInput> = {}): HintsInput => ({
  object,
  userName: CONTROLLER,
  flowControllerUsers: new Set([PLANNER]),
  plannerAlive: true,
  nodeHints: true,
  ...more,
});

export const zones = (...names: string[]) => ({ forZones: names.map((name) => ({ name })) });

export const nodes = (...names: string[]) => ({ forNodes: names.map((name) => ({ name })) });

export const withHints = (zone: string, hints: object | undefined, more: Partial<Endpoint> = {}): Endpoint =>
  endpoint({ zone, ...(hints === undefined ? {} : { hints }), ...more });

export const sliceOf = (
  endpoints: Endpoint[] | null,
  labels: Record<string, string> = {},
  annotations: Record<string, string> = {},
): EndpointSlice => slice({ endpoints, metadata: { labels, annotations } });

export const strategy = (name: string) => ({ [LABEL_STRATEGY]: name });

/** Hints after admission, one entry an endpoint. */
export const hintsAfter = (input: HintsInput): unknown[] => {
  const decision = decideHints(input);
  expect(decision.kind, JSON.stringify(decision)).to.be.oneOf(['patch', 'unchanged']);
  const operations = decision.kind === 'patch' ? decision.operations : [];
  return (applyJsonPatch(input.object as EndpointSlice, operations).endpoints ?? []).map(({ hints }) => hints);
};

export const { zone: _zone, ...zoneless } = endpoint();

export const zoneName = fc.constantFrom('a', 'b', 'c', 'eu-1a', '', 'x'.repeat(64), 'not valid', 'é');

export const hints = fc.option(
  fc.record(
    {
      forZones: fc.array(fc.record({ name: zoneName }), { maxLength: 9 }),
      forNodes: fc.array(fc.record({ name: fc.constantFrom('n1', 'n2') }), { maxLength: 2 }),
    },
    { requiredKeys: [] },
  ),
  { nil: undefined },
);
