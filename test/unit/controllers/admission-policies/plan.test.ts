// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { managedKey } from '../../../../pkg/controllers/admission-policies/objects.ts';
import type { Managed } from '../../../../pkg/controllers/admission-policies/objects.ts';
import { planCarrier } from '../../../../pkg/controllers/admission-policies/plan.ts';
import type { Plan, PlanInput } from '../../../../pkg/controllers/admission-policies/plan.ts';
import { foreign, installed, isCarrierObject, NAMESPACE, wantedPolicies } from './support.ts';

const plan = (input: Partial<PlanInput>): Plan =>
  planCarrier({
    carrier: 'policy',
    wanted: wantedPolicies(),
    namespace: NAMESPACE,
    current: [],
    foreign: new Set(),
    acting: { policy: false, webhook: false },
    ...input,
  });

const acting = { policy: true, webhook: true };
/** `create ConfigMap`, each run of the same once. */
const steps = ({ actions }: Plan): string[] =>
  actions.map(({ kind, resource }) => `${kind} ${resource.kind}`).filter((step, index, all) => step !== all[index - 1]);

const replaced = (items: readonly Managed[], index: number, object: object): Managed[] =>
  items.map((item, at) => (at === index ? { ...item, object: { ...item.object, ...object } } : item));

describe('the way to policies', () => {
  it('begins with everything, saying that the webhook carries', () => {
    const first = plan({});
    expect(steps(first)).to.deep.equal([
      'create ConfigMap',
      'create MutatingAdmissionPolicy',
      'create MutatingAdmissionPolicyBinding',
    ]);
    expect(first).to.deep.include({ says: 'webhook', awaits: undefined, refused: [] });
    expect(first.actions.find(isCarrierObject)?.object.data).to.deep.equal({ carrier: 'webhook' });
  });

  it('waits until they act', () => {
    expect(plan({ current: installed('webhook') })).to.deep.equal({
      actions: [],
      refused: [],
      awaits: 'policy',
      says: 'webhook',
    });
  });

  it('says so then, with one write', () => {
    const said = plan({ current: installed('webhook'), acting });
    expect(steps(said)).to.deep.equal(['update ConfigMap']);
    expect(said.actions[0]?.object.data).to.deep.equal({ carrier: 'policy' });
    expect(said.awaits).to.equal(undefined);
  });

  it('ends there: nothing differs, nothing is written', () => {
    expect(plan({ current: installed('policy') })).to.deep.equal({
      actions: [],
      refused: [],
      awaits: undefined,
      says: 'policy',
    });
  });

  it('does not believe what acted before it was complete', () => {
    const halfway = plan({ current: installed('webhook').slice(0, -1), acting });
    expect(steps(halfway)).to.deep.equal(['create MutatingAdmissionPolicyBinding']);
    expect(halfway.says).to.equal('webhook');
  });
});

describe('what is repaired', () => {
  const all = installed('policy');
  const cases: { name: string; current: Managed[]; want: string[] }[] = [
    {
      name: 'a policy that is gone',
      current: all.filter((_, index) => index !== 1),
      want: ['create MutatingAdmissionPolicy'],
    },
    { name: 'what says who carries is gone', current: all.slice(1), want: ['create ConfigMap'] },
    {
      name: 'a spec that somebody changed',
      current: replaced(all, 2, { spec: { failurePolicy: 'Fail' } }),
      want: ['update MutatingAdmissionPolicy'],
    },
  ];
  for (const { name, current, want } of cases) {
    it(name, () => expect(steps(plan({ current }))).to.deep.equal(want));
  }

  it('planned policies alone, when the planner dies', () => {
    const dead = plan({ current: all, wanted: wantedPolicies({ plannerAlive: false }) });
    expect(dead.actions.map(({ kind, object }) => `${kind} ${object.metadata?.name}`)).to.deep.equal([
      'update ours.proportional',
      'update ours.load-aware',
    ]);
    expect(dead.says).to.equal('policy');
  });

  it('removes what keeps settings where they are kept no more, bindings first', () => {
    const without = plan({ current: all, wanted: wantedPolicies({ keepSettings: false }) });
    expect(steps(without)).to.deep.equal(['delete MutatingAdmissionPolicyBinding', 'delete MutatingAdmissionPolicy']);
  });

  it('labels and annotations of others stay', () => {
    const annotated = replaced(all, 1, {
      metadata: {
        ...all[1]?.object.metadata,
        labels: { ...all[1]?.object.metadata?.labels, team: 'x' },
        annotations: { note: 'y' },
      },
    });
    expect(plan({ current: annotated }).actions).to.deep.equal([]);
  });
});

describe('what belongs to another writer', () => {
  it('is not touched, and nothing is installed beside it', () => {
    const refused = plan({ foreign: new Set(installed('webhook').slice(2, 3).map(managedKey)) });
    expect(refused.actions).to.deep.equal([]);
    expect(refused.refused).to.deep.equal([
      'MutatingAdmissionPolicy ours.same-node exists and is not managed by settings-reconciler; delete it, or configure admission: webhook',
    ]);
    expect(refused.says).to.equal('webhook');
  });

  it('is seen by its missing mark, where it is in the cache', () => {
    const current = installed('webhook').map((item, index) => (index === 0 ? foreign(item) : item));
    expect(plan({ current, acting }).refused).to.have.lengthOf(1);
    expect(plan({ current, acting }).refused[0]).to.match(/^ConfigMap own\/admission-carrier exists/);
  });

  it('is not removed on the way back', () => {
    const current = installed('webhook').map((item) => (isCarrierObject(item) ? item : foreign(item)));
    expect(steps(plan({ carrier: 'webhook', current, acting }))).to.deep.equal(['delete ConfigMap']);
  });
});

describe('the way back to the webhook', () => {
  const back = (input: Partial<PlanInput>): Plan => plan({ carrier: 'webhook', ...input });

  it('has nothing to do where nothing is installed', () => {
    expect(back({})).to.deep.equal({ actions: [], refused: [], awaits: undefined, says: 'webhook' });
  });

  it('says first that the webhook carries, and waits for nothing yet', () => {
    const first = back({ current: installed('policy') });
    expect(steps(first)).to.deep.equal(['update ConfigMap']);
    expect(first.actions[0]?.object.data).to.deep.equal({ carrier: 'webhook' });
    expect(first.awaits).to.equal(undefined);
  });

  it('waits until it acts; the policies stay and learn of their planner', () => {
    expect(back({ current: installed('webhook') })).to.deep.include({ actions: [], awaits: 'webhook' });
    const dead = back({ current: installed('webhook'), wanted: wantedPolicies({ plannerAlive: false }) });
    expect(steps(dead)).to.deep.equal(['update MutatingAdmissionPolicy']);
  });

  it('removes the policies then: bindings, policies, what says who carries', () => {
    expect(steps(back({ current: installed('webhook'), acting }))).to.deep.equal([
      'delete MutatingAdmissionPolicyBinding',
      'delete MutatingAdmissionPolicy',
      'delete ConfigMap',
    ]);
  });

  it('does not wait for a webhook where no policy is bound: nothing acts that could be missed', () => {
    const current = installed('policy').filter(({ resource }) => resource.kind !== 'MutatingAdmissionPolicyBinding');
    expect(steps(back({ current }))).to.deep.equal(['delete MutatingAdmissionPolicy', 'delete ConfigMap']);
  });
});
