// What holds for the hints of every slice.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import type { Endpoint, EndpointHints, EndpointSlice } from '../../../pkg/apis/core.ts';
import { ANNOTATION_PLAN, LABEL_CONSIDER, LABEL_STRATEGY } from '../../../pkg/apis/names.ts';
import { type HintsInput, decideHints } from '../../../pkg/hints/decide.ts';
import { isLabelValue } from '../../../pkg/apis/values.ts';
import { isNodeName } from '../../../pkg/hints/readiness.ts';

import { applyJsonPatch } from '../../sandbox/patch-json.ts';
import { endpoint, slice } from '../../fixtures/core.ts';
import { CONTROLLER, PLANNER, hints, inputOf, zoneName } from './support.ts';

const anyEndpoint = fc.record(
  {
    addresses: fc.constantFrom('10.0.0.1', '10.0.0.2', '10.0.0.3').map((address) => [address]),
    zone: zoneName,
    nodeName: fc.constantFrom('n1', 'n2', 'Bad_Node'),
    targetRef: fc.record({ uid: fc.constantFrom('u1', 'u2') }, { requiredKeys: [] }),
    hints,
    conditions: fc.constantFrom({}, { ready: true }, { ready: false }),
  },
  { requiredKeys: ['addresses'] },
);

const labelSet = fc.record(
  {
    [LABEL_STRATEGY]: fc.constantFrom('same-zone', 'same-node', 'proportional', 'load-aware', 'other'),
    [LABEL_CONSIDER]: fc.constantFrom('true', 'false'),
  },
  { requiredKeys: [] },
);

const anySlice = fc
  .tuple(
    fc.array(anyEndpoint, { maxLength: 6 }),
    labelSet,
    fc.constantFrom<Record<string, string>>({}, { [ANNOTATION_PLAN]: 'spread' }),
  )
  .map(
    ([endpoints, labels, annotations]) =>
      JSON.parse(JSON.stringify({ metadata: { labels, annotations }, endpoints })) as EndpointSlice,
  );

const anyInput = fc
  .record({
    object: anySlice,
    oldObject: fc.option(anySlice, { nil: undefined }),
    userName: fc.constantFrom(CONTROLLER, PLANNER),
    plannerAlive: fc.boolean(),
    nodeHints: fc.boolean(),
  })
  .map(({ object, ...more }) => inputOf(object, more));

const stripHints = (object: EndpointSlice): unknown => ({
  ...object,
  endpoints: object.endpoints?.map(({ hints: _hints, ...rest }) => rest),
});

const after = (input: HintsInput): EndpointSlice => {
  const decision = decideHints(input);
  return applyJsonPatch(input.object as EndpointSlice, decision.kind === 'patch' ? decision.operations : []);
};

describe('decideHints, whatever the slice', () => {
  it('is done after one turn: the patched slice needs no patch', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const object = after(input);
        expect(decideHints({ ...input, object })).to.deep.equal({ kind: 'unchanged' });
      }),
    );
  });

  it('once stored, a stripped slice comes back as it was', () => {
    fc.assert(
      fc.property(anySlice, (object) => {
        const stored = after(inputOf(object));
        const again = after(inputOf(stripHints(stored), { oldObject: stored }));
        // No Node and an empty list of Nodes are the same hint; the API server stores neither.
        const named = ({ forZones, forNodes = [] }: EndpointHints) => ({
          forZones,
          ...(forNodes.length > 0 ? { forNodes } : {}),
        });
        const written = (one: EndpointSlice) =>
          one.endpoints?.map(({ zone, hints: carried }) =>
            isLabelValue(zone) && carried ? named(carried) : undefined,
          );
        const asks = ['same-zone', 'same-node', 'proportional', 'load-aware'].includes(
          object.metadata?.labels?.[LABEL_STRATEGY] ?? '',
        );
        if (asks) expect(written(again)).to.deep.equal(written(stored));
      }),
    );
  });

  it('changes nothing but hints', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        expect(stripHints(after(input))).to.deep.equal(stripHints(input.object as EndpointSlice));
      }),
    );
  });

  it('decides on every endpoint alone: order does not matter', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const object = input.object as EndpointSlice;
        const reversed = { ...object, endpoints: [...(object.endpoints ?? [])].reverse() };
        const oldObject = input.oldObject as EndpointSlice | undefined;
        const oldReversed = oldObject && { ...oldObject, endpoints: [...(oldObject.endpoints ?? [])].reverse() };
        const mirrored = after({ ...input, object: reversed, oldObject: oldReversed }).endpoints ?? [];
        expect([...mirrored].reverse()).to.deep.equal(after(input).endpoints ?? []);
      }),
    );
  });

  it('writes only hints that the API accepts', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const decision = decideHints(input);
        for (const operation of decision.kind === 'patch' ? decision.operations : []) {
          if (operation.op === 'remove') continue;
          const { forZones = [], forNodes = [] } = operation.value as NonNullable<Endpoint['hints']>;
          expect(forZones.length).to.be.at.most(8);
          expect(new Set(forZones.map(({ name }) => name)).size).to.equal(forZones.length);
          expect(
            forZones.every(({ name }) => isLabelValue(name)) && forNodes.every(({ name }) => isNodeName(name)),
          ).to.equal(true);
          expect(forZones.length + forNodes.length).to.be.above(0);
        }
      }),
    );
  });

  it('never mutates what it is given', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const before = structuredClone({ object: input.object, oldObject: input.oldObject });
        decideHints(input);
        expect({ object: input.object, oldObject: input.oldObject }).to.deep.equal(before);
      }),
    );
  });

  it('never throws, whatever JSON it is given', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), labelSet, (endpoints, oldObject, labels) => {
        const decision = decideHints(inputOf({ metadata: { labels }, endpoints }, { oldObject }));
        expect(decision.kind).to.be.oneOf(['unchanged', 'patch', 'invalid']);
      }),
    );
  });
});

// docs/usage/migrate.md: our admission beside Gardener's former webhook, in either order, gives what each alone gives.
const consider = { [LABEL_CONSIDER]: 'true' };

/** What Gardener v1.66 to v1.141 did with a slice that its selector took: the own zone replaces the hints. */
const gardeners = (object: EndpointSlice): EndpointSlice => ({
  ...object,
  endpoints: (object.endpoints ?? []).map((one) =>
    one.zone === undefined || one.zone === '' ? one : { ...one, hints: { forZones: [{ name: one.zone }] } },
  ),
});

const ours = (object: EndpointSlice): EndpointSlice => {
  const userName = 'system:serviceaccount:kube-system:endpointslice-controller';
  const decision = decideHints({
    object,
    userName,
    flowControllerUsers: new Set(),
    plannerAlive: true,
    nodeHints: true,
  });
  return decision.kind === 'patch' ? applyJsonPatch(object, decision.operations) : object;
};

const hint = fc.option(
  fc.record({ forZones: fc.array(fc.record({ name: fc.constantFrom('a', 'b') }), { maxLength: 2 }) }),
  { nil: undefined },
);
const endpoints = fc.array(
  fc.record({ zone: fc.constantFrom('a', 'b', 'c', undefined), hints: hint }).map(({ zone, hints: own }): Endpoint => {
    const { zone: _, ...without } = endpoint();
    return { ...without, ...(zone === undefined ? {} : { zone }), ...(own === undefined ? {} : { hints: own }) };
  }),
  { maxLength: 5 },
);

describe('admission beside the former webhook of Gardener', () => {
  it('agrees with it about every labelled slice, in either order', () => {
    fc.assert(
      fc.property(endpoints, (of) => {
        const object = slice({ endpoints: of, metadata: { labels: consider } });
        expect(ours(object)).to.deep.equal(gardeners(object));
        expect(ours(gardeners(object))).to.deep.equal(gardeners(object));
        expect(gardeners(ours(object))).to.deep.equal(gardeners(object));
      }),
    );
  });

  it('lets hints go in the write that takes the label off, in which the former webhook put them back', () => {
    const stripped = slice({ endpoints: [endpoint({ zone: 'a' })], metadata: { labels: {} } });
    expect(ours(stripped).endpoints?.[0]).not.to.have.property('hints');
    expect(gardeners(stripped).endpoints?.[0]).to.have.nested.property('hints.forZones[0].name', 'a');
  });
});
