// docs/usage/migrate.md: our admission beside Gardener's former webhook, in either order, gives what each alone gives.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import type { Endpoint, EndpointSlice } from '../../../pkg/apis/core.ts';
import { LABEL_CONSIDER } from '../../../pkg/apis/names.ts';
import { decideHints } from '../../../pkg/hints/decide.ts';
import { endpoint, slice } from '../../fixtures/core.ts';
import { applyJsonPatch } from '../../fixtures/json-patch.ts';

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
  fc.record({ zone: fc.constantFrom('a', 'b', 'c', undefined), hints: hint }).map(({ zone, hints }): Endpoint => {
    const { zone: _, ...without } = endpoint();
    return { ...without, ...(zone === undefined ? {} : { zone }), ...(hints === undefined ? {} : { hints }) };
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
