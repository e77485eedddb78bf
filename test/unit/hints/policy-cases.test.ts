// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { JsonPatchOperation } from '../../../pkg/apis/admission.ts';
import type { EndpointSlice } from '../../../pkg/apis/core.ts';
import { decideHints, HINT_STRATEGIES } from '../../../pkg/hints/index.ts';
import { strategyOf } from '../../../pkg/hints/table.ts';
import { createEndpointSliceHintsHandler } from '../../../pkg/webhook/endpoint-slice-hints/handler.ts';
import type { AdmissionCase } from '../../fixtures/admission-cases.ts';
import { ADMISSION_CASES, DUPLICATE_CASES, GENERATED_CASES } from '../../fixtures/admission-cases.ts';
import { applyJsonPatch } from '../../fixtures/json-patch.ts';

const users = { controller: 'controller', planner: 'planner' };
const flowControllerUsers = new Set([users.planner]);
const all = [...ADMISSION_CASES, ...DUPLICATE_CASES];

/** The slice after admission, through the decision alone. */
const decided = ({ by, plannerAlive, oldObject }: AdmissionCase, object: EndpointSlice): EndpointSlice => {
  const input = { object, oldObject, userName: users[by], flowControllerUsers, plannerAlive, nodeHints: true };
  const decision = decideHints(input);
  if (decision.kind === 'invalid') throw new Error(decision.message);
  return decision.kind === 'patch' ? applyJsonPatch(object, decision.operations) : object;
};

/** The slice after admission, through the webhook's handler. */
const handled = ({ by, plannerAlive, object, oldObject }: AdmissionCase): EndpointSlice => {
  const options = { flowControllerUsers, plannerAlive: () => plannerAlive, nodeHints: () => true };
  const answer = createEndpointSliceHintsHandler(options)({
    uid: 'review',
    kind: { group: 'discovery.k8s.io', version: 'v1', kind: 'EndpointSlice' },
    operation: oldObject === undefined ? 'CREATE' : 'UPDATE',
    userInfo: { username: users[by] },
    object,
    oldObject,
  });
  if (answer.kind === 'unchanged') return object;
  if (answer.kind !== 'patch') throw new Error(JSON.stringify(answer));
  return applyJsonPatch(object, JSON.parse(answer.patch) as JsonPatchOperation[]);
};

const changed = (one: AdmissionCase): boolean =>
  JSON.stringify(decided(one, one.object)) !== JSON.stringify(one.object);

describe('the cases of admission', () => {
  it('are several hundred, each with a name of its own', () => {
    expect(new Set(all.map(({ name }) => name)).size).to.equal(all.length);
    expect(GENERATED_CASES.length).to.be.at.least(300);
    expect(all.length - GENERATED_CASES.length).to.be.at.least(200);
  });

  for (const strategy of HINT_STRATEGIES) {
    it(`change and keep slices of ${strategy.name}, created and updated, by both writers`, () => {
      const own = all.filter(({ object }) => strategyOf(object.metadata?.labels ?? {}) === strategy);
      for (const by of ['controller', 'planner'] as const) {
        for (const update of [false, true]) {
          const some = own.filter((one) => one.by === by && (one.oldObject !== undefined) === update);
          const what = `${by} ${update ? 'updates' : 'creates'}`;
          expect(some.length, what).to.be.at.least(2);
          const changes = some.filter(changed).length;
          if (strategy.planned && by === 'planner') expect(changes, what).to.equal(0);
          else expect(changes, what).to.be.within(1, some.length - 1);
        }
      }
    });
  }

  it('carry plans over in many ways: hints that are neither the own zone nor the writer’s', () => {
    const carried = GENERATED_CASES.filter((one) =>
      decided(one, one.object).endpoints?.some(({ zone, hints }, index) => {
        const names = JSON.stringify(hints?.forZones?.map(({ name }) => name));
        return hints !== one.object.endpoints?.[index]?.hints && hints?.forZones && names !== JSON.stringify([zone]);
      }),
    );
    expect(carried.length).to.be.above(20);
  });

  it('are served by the webhook’s handler as decided, and come back unchanged', () => {
    for (const one of all) {
      const after = decided(one, one.object);
      expect(handled(one), one.name).to.deep.equal(after);
      expect(decided(one, after), `${one.name}, again`).to.deep.equal(after);
    }
  });
});
