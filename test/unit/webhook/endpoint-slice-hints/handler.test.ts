import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
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
    plannerUsers: new Set(['planner']),
    plannerAlive: () => true,
    version: () => ({ major: 1, minor: 36 }),
    ...more,
  });

const requestOf = (more: Partial<AdmissionRequest>) => review(stripped, more).request as unknown as AdmissionRequest;

describe('the handler of EndpointSlices', () => {
  it('recognises the flow controller by its user name', () => {
    expect(handlerOf()(requestOf({ userInfo: { username: 'planner' } })).kind).to.equal('unchanged');
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

const root = resolve(import.meta.dirname, '../../../..');
const read = (path: string): string => readFileSync(resolve(root, path), 'utf8');
const reference = read('docs/reference/errors.md');

describe('docs/reference/errors.md', () => {
  it('explains every reason why a review is not served, and no other', () => {
    const declaration = /type UnservedReason =([^;]*);/.exec(read('pkg/webhook/review.ts'))?.[1] ?? '';
    const reasons = [...declaration.matchAll(/'(\w+)'/g)].map(([, reason]) => reason);
    const explained = [...reference.matchAll(/^\| `(\w+)` \|/gm)].map(([, reason]) => reason);
    expect(reasons).to.have.length.above(3);
    expect(explained).to.have.members(reasons);
  });

  it('explains every status that the server answers with', () => {
    const sources = ['exchange', 'app', 'body'].map((name) => read(`pkg/webhook/${name}.ts`)).join('\n');
    const codes = new Set(
      [...sources.matchAll(/\b(?:rejected|refuse|send)\((?:response, )?(4\d\d|503)|code: (4\d\d)/g)].map(
        ([, one, other]) => one ?? other,
      ),
    );
    expect(codes.size).to.be.above(6);
    for (const code of codes) expect(reference, `status ${code}`).to.match(new RegExp(`^\\| ${code} \\|`, 'm'));
  });
});
