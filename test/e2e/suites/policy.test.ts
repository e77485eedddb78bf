// SPDX-License-Identifier: Apache-2.0
// Shows on the real API server that the generated policies store what the webhook would, and what a write costs with each.
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { Endpoint, EndpointSlice } from '../../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { COMMANDS, LABEL_STRATEGY, STRATEGIES } from '../../../pkg/apis/names.ts';
import { ENDPOINT_SLICES, LEASES } from '../../../pkg/apis/resources.ts';
import type { Resource } from '../../../pkg/apis/resources.ts';
import { HINT_STRATEGIES } from '../../../pkg/hints/index.ts';
import { buildHintPolicies, buildPolicyParameters } from '../../../pkg/hints/policy/index.ts';
import { createClient } from '../../../pkg/kubernetes/client.ts';
import { loadKubeConfig } from '../../../pkg/kubernetes/kubeconfig.ts';
import { microTime } from '../../../pkg/kubernetes/lease.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { excludedNamespacesOf } from '../../../pkg/webhook/registration.ts';
import type { AdmissionCase } from '../../fixtures/admission-cases.ts';
import { ADMISSION_CASES, DUPLICATE_CASES } from '../../fixtures/admission-cases.ts';
import { endpoint, slice } from '../../fixtures/core.ts';
import { mastersGroup } from '../bed/kubeconfig.ts';
import type { BedPod, BedService } from '../bed/index.ts';
import { useBed } from '../bed/mocha.ts';
import type { SliceEndpoint } from '../bed/service.ts';
import { waitFor } from '../bed/wait-for.ts';
import { ownNamespace, startWebhook } from '../commands.ts';
import { createAgreement, explain, named } from '../policy-agreement.ts';
import type { Agreement, Comparison } from '../policy-agreement.ts';
import { largestEndpoints, measure, reportCosts } from '../policy-cost.ts';
import type { Measurement } from '../policy-cost.ts';

const users = { controller: 'the-controller', planner: `system:serviceaccount:${ownNamespace}:flow-controller` };
/** Where the policies act, where they are told not to, where writes are measured, and where the parameters are. */
const [served, excluded, measured, parameters] = ['served', 'excluded', 'measured', 'parameters'] as const;

const options = {
  excludedNamespaces: excludedNamespacesOf(ownNamespace, { included: [], excluded: [excluded] }),
  parameters: { namespace: parameters, name: 'endpoint-slice-hints' },
  flowControllerUsers: ['somebody', users.planner],
  plannerAlive: true,
};
const { policies, bindings, parameters: parameterObject } = buildHintPolicies(options);

const admission = (kind: string, plural: string): Resource => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind,
  plural,
  namespaced: false,
});
const POLICIES = admission('MutatingAdmissionPolicy', 'mutatingadmissionpolicies');
const BINDINGS = admission('MutatingAdmissionPolicyBinding', 'mutatingadmissionpolicybindings');
const CONFIG_MAPS: Resource = { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true };

/** Writes that the API server refuses agree as well, but say little. */
const expectAgreement = ({ disagreements, stored }: Comparison, cases: number): void => {
  expect(disagreements.length, explain(disagreements)).to.equal(0);
  expect(stored, 'cases whose write was stored').to.be.above(0.9 * cases);
};

const isPlanned = (strategy: string): boolean =>
  HINT_STRATEGIES.some(({ name, planned }) => planned && name === strategy);

describe('admission policies generated from the table of strategies', () => {
  const bed = useBed();
  const clients = new Map<AdmissionCase['by'], Client>();
  const clientOf = (by: AdmissionCase['by']): Client => clients.get(by)!;
  const measurements: Measurement[] = [];
  let agreement: Agreement;

  /** Hints as JSON after a write that is not stored, of a slice that comes with wrong ones. */
  const probe = async (strategy: string, namespace: string = served): Promise<string> => {
    const endpoints = [endpoint({ zone: 'a', nodeName: 'n', hints: { forZones: [{ name: 'wrong' }] } })];
    const object = slice({ endpoints, metadata: { name: 'probe', namespace, labels: { [LABEL_STRATEGY]: strategy } } });
    const admitted = await clientOf('controller').create(ENDPOINT_SLICES, object, { dryRun: true });
    return JSON.stringify(admitted.endpoints?.[0]?.hints ?? null);
  };

  const untilProbed = (what: string, accept: (hints: string) => boolean, strategies: readonly string[] = STRATEGIES) =>
    Promise.all(strategies.map((one) => waitFor(`${one}: ${what}`, () => probe(one), accept)));
  const isOwn = (hints: string): boolean => hints.includes('"a"') && !hints.includes('wrong');

  const install = async (): Promise<void> => {
    const client = clientOf('controller');
    await client.create<KubernetesObject>(CONFIG_MAPS, parameterObject);
    for (const policy of policies) await client.create<KubernetesObject>(POLICIES, policy);
    for (const binding of bindings) await client.create<KubernetesObject>(BINDINGS, binding);
    await untilProbed('policy in force', isOwn);
  };

  const remove = async (): Promise<void> => {
    for (const { metadata } of bindings) await clientOf('controller').delete(BINDINGS, metadata);
    for (const { metadata } of policies) await clientOf('controller').delete(POLICIES, metadata);
    await untilProbed('policy gone', (hints) => hints.includes('wrong'));
  };

  const plannedStrategies = STRATEGIES.filter(isPlanned);
  const setPlannerAlive = async (plannerAlive: boolean): Promise<void> => {
    const next = buildPolicyParameters({ ...options, plannerAlive });
    await clientOf('controller').update<KubernetesObject>(CONFIG_MAPS, next);
    const what = `planner ${plannerAlive ? 'alive' : 'dead'}`;
    await untilProbed(what, (hints) => (plannerAlive ? isOwn(hints) : hints === 'null'), plannedStrategies);
  };

  const measureWith = async (carrier: string, hintsOf: (strategy: string) => number): Promise<void> => {
    const [controller, planner] = [clientOf('controller'), clientOf('planner')];
    const measuring = { carrier, namespace: measured, controller, planner };
    const results = await measure(measuring, (strategy, { endpoints }) => {
      const wrong = endpoints?.filter(({ hints }) => (hints?.forZones?.length ?? 0) !== hintsOf(strategy));
      expect(wrong, `${carrier}, ${strategy}: endpoints with wrong hints`).to.deep.equal([]);
    });
    measurements.push(...results);
  };
  const ownOrPlanned = (strategy: string): number => (isPlanned(strategy) ? 2 : 1);

  before('clients, namespaces, and what is stored before any policy is', async () => {
    for (const by of ['controller', 'planner'] as const) {
      const kubeconfig = await bed().kubeconfig({ user: users[by], groups: [mastersGroup] });
      clients.set(by, createClient({ config: loadKubeConfig({ kubeconfig }), userAgent: 'policy-test/1' }));
    }
    for (const name of [served, excluded, measured, parameters]) {
      await bed().api.create('/api/v1/namespaces', { metadata: { name } });
    }
    const cases = [...ADMISSION_CASES, ...DUPLICATE_CASES];
    agreement = createAgreement({ cases, clientOf, users, served, reference: excluded });
    await agreement.prepare();
    await measureWith('none', () => 0);
    await install();
  });
  after(async () => {
    for (const client of clients.values()) await client.close();
  });

  it('leave excluded namespaces alone', async () => {
    for (const strategy of STRATEGIES) expect(await probe(strategy, excluded), strategy).to.contain('wrong');
  });

  it('leave planned slices as they come while there is no parameter object', async () => {
    await clientOf('controller').delete(CONFIG_MAPS, parameterObject.metadata);
    await untilProbed('policy without parameters', (hints) => hints.includes('wrong'), plannedStrategies);
    expect(await probe('same-zone')).to.equal('{"forZones":[{"name":"a"}]}');
    await clientOf('controller').create<KubernetesObject>(CONFIG_MAPS, parameterObject);
    await untilProbed('policy in force again', isOwn);
  });

  const alive = ADMISSION_CASES.filter(({ plannerAlive }) => plannerAlive);
  it(`store what the webhook would: ${alive.length} cases`, async () => {
    expectAgreement(await agreement.compare(alive), alive.length);
  });

  const dead = ADMISSION_CASES.filter(({ plannerAlive }) => !plannerAlive);
  it(`do so with a dead planner: ${dead.length} cases`, async () => {
    await setPlannerAlive(false);
    const result = await agreement.compare(dead);
    await setPlannerAlive(true);
    expectAgreement(result, dead.length);
  });

  it('leave a write as it came where the stored slice lists one planned endpoint twice, unlike the webhook', async () => {
    const { disagreements } = await agreement.compare(DUPLICATE_CASES);
    expect(disagreements.map((one) => one.case.name)).to.have.members(DUPLICATE_CASES.map(({ name }) => name));
    for (const { case: one, policy } of disagreements) {
      expect(policy.endpoints, one.name).to.deep.equal(one.object.endpoints);
    }
  });

  describe('hold the cost limit of CEL for 1,000 endpoints whose every name is as long as can be', () => {
    for (const strategy of STRATEGIES) {
      it(strategy, async () => {
        const write = (endpoints: Endpoint[], by: AdmissionCase['by'], old?: EndpointSlice): Promise<EndpointSlice> => {
          const object = slice({
            addressType: 'IPv6',
            endpoints,
            metadata: { labels: { [LABEL_STRATEGY]: strategy } },
          });
          const next = named(object, served, `largest-${strategy}`, old?.metadata?.resourceVersion);
          return old ? clientOf(by).update(ENDPOINT_SLICES, next) : clientOf(by).create(ENDPOINT_SLICES, next);
        };
        const unhinted = largestEndpoints();
        const plan = { forZones: Array.from('abcdefgh', (letter) => ({ name: letter.repeat(63) })) };
        const first = await write(
          unhinted.map((one) => ({ ...one, hints: plan })),
          'planner',
        );
        const second = await write(unhinted, 'controller', first);
        const zones = second.endpoints!.map(({ hints }) => hints?.forZones?.length);
        expect(new Set(zones)).to.deep.equal(new Set([isPlanned(strategy) ? 8 : 1]));
        // Of what is right already nothing is skipped. The hints of the last endpoint show that all were looked at.
        const { hints: _stripped, ...last } = second.endpoints!.at(-1)!;
        const third = await write([...second.endpoints!.slice(0, -1), last], 'controller', second);
        expect(third.endpoints).to.deep.equal(second.endpoints);
      });
    }
  });

  describe('with the real EndpointSlice controller', () => {
    let pods: BedPod[];
    let service: BedService;
    const plan = ['a', 'b'];
    const zonesOf = ({ hints }: SliceEndpoint): string[] => (hints?.forZones ?? []).map(({ name }) => name);

    before('a Service in two zones', async () => {
      const nodes = await Promise.all(plan.map((zone) => bed().node({ name: `node-${zone}`, zone })));
      pods = await Promise.all(nodes.map((node) => bed().pod({ node, app: 'web', namespace: served })));
      service = await bed().service({ name: 'web', namespace: served });
      await service.patch({ metadata: { labels: { [LABEL_STRATEGY]: 'load-aware' } } });
    });

    it('hint every endpoint for its own zone as it is published', async () => {
      const isHinted = (one: SliceEndpoint): boolean => zonesOf(one).join() === one.zone;
      await waitFor(
        'own zone on both',
        () => service.endpoints(),
        (all) => all.length === 2 && all.every(isHinted),
      );
    });

    it('keep what the planner wrote through the writes of the controller', async () => {
      const [stored] = await service.slices();
      const { metadata } = stored!;
      const endpoints = (stored!.endpoints ?? []).map((one) => ({
        ...one,
        hints: { forZones: plan.map((name) => ({ name })) },
      }));
      await clientOf('planner').patch(ENDPOINT_SLICES, metadata, 'merge', { endpoints });
      await pods[0]!.setReady(false);
      const published = await waitFor(
        'readiness published',
        () => service.endpoints(),
        (all) => all.some(({ conditions }) => conditions?.ready === false),
      );
      expect(published.map(zonesOf)).to.deep.equal([plan, plan]);
    });
  });

  // Last: a suite's own tests come before those of its parts, and this one takes the policies away.
  describe('the cost of a write', () => {
    it('is printed here, beside none without admission and that of the webhook', async () => {
      await measureWith('policy', ownOrPlanned);
      await remove();
      await startWebhook(bed());
      // The webhook takes plans for dead without it.
      await clientOf('controller').create<KubernetesObject & { spec: object }>(LEASES, {
        metadata: { name: COMMANDS.flowController, namespace: ownNamespace },
        spec: { holderIdentity: 'test', leaseDurationSeconds: 15, renewTime: microTime(Date.now()) },
      });
      await untilProbed('webhook in force', isOwn);
      await measureWith('webhook', ownOrPlanned);
      reportCosts(measurements);
    });
  });
});
