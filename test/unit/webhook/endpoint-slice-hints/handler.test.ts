import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { AdmissionRequest } from '../../../../pkg/apis/admission.ts';
import { LABEL_STRATEGY } from '../../../../pkg/apis/names.ts';
import { createEndpointSliceHintsHandler } from '../../../../pkg/webhook/endpoint-slice-hints.ts';
import { review } from '../../../fixtures/admission.ts';
import { endpoint, slice } from '../../../fixtures/core.ts';

const labels = { [LABEL_STRATEGY]: 'load-aware' };
const planned = slice({
  metadata: { labels },
  endpoints: [endpoint({ zone: 'b', hints: { forZones: [{ name: 'a' }] } })],
});
const stripped = slice({ metadata: { labels }, endpoints: [endpoint({ zone: 'b' })] });

const handlerOf = (more: Partial<Parameters<typeof createEndpointSliceHintsHandler>[0]> = {}) =>
  createEndpointSliceHintsHandler({
    flowControllerUsers: new Set(['planner']),
    plannerAlive: () => true,
    nodeHints: () => true,
    ...more,
  });
const requestOf = (more: Partial<AdmissionRequest>) => review(stripped, more).request as unknown as AdmissionRequest;

describe('the handler of EndpointSlices', () => {
  it('carries a plan over on UPDATE', () => {
    const decision = handlerOf()(requestOf({ operation: 'UPDATE', oldObject: planned }));
    expect(decision).to.deep.equal({
      kind: 'patch',
      operations: 1,
      patch: '[{"op":"add","path":"/endpoints/0/hints","value":{"forZones":[{"name":"a"}]}}]',
    });
  });

  it('recognises the flow controller by its user name', () => {
    expect(handlerOf()(requestOf({ userInfo: { username: 'planner' } })).kind).to.equal('unchanged');
  });

  it('bears metadata of any kind', () => {
    for (const metadata of [null, 'x', { annotations: null }]) {
      expect(handlerOf()(requestOf({ object: { ...stripped, metadata } })).kind).to.be.oneOf(['unchanged', 'unserved']);
    }
  });

  it('asks at each request whether the planner lives', () => {
    let alive = true;
    const handle = handlerOf({ plannerAlive: () => alive });
    const request = requestOf({ object: planned, oldObject: planned, operation: 'UPDATE' });
    expect(handle(request).kind).to.equal('unchanged');
    alive = false;
    expect(handle(request)).to.deep.include({ patch: '[{"op":"remove","path":"/endpoints/0/hints"}]' });
  });
});
