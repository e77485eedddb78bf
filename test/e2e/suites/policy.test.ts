// SPDX-License-Identifier: Apache-2.0
// Shows on the real API server that the generated policies store what the webhook would, and what a write costs with each.
// Alone: it measures what a write costs.
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { Endpoint, EndpointSlice } from '../../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_TOPOLOGY_MODE,
  COMMANDS,
  LABEL_ROUTING,
  LABEL_STRATEGY,
  STRATEGIES,
} from '../../../pkg/apis/names.ts';
import {
  ENDPOINT_SLICES,
  LEASES,
  MUTATING_ADMISSION_POLICIES,
  MUTATING_ADMISSION_POLICY_BINDINGS,
  SERVICES,
} from '../../../pkg/apis/resources.ts';
import { decideHints, HINT_STRATEGIES } from '../../../pkg/hints/index.ts';
import { buildAdmissionPolicies } from '../../../pkg/hints/policy/index.ts';
import type { AdmissionPoliciesOptions } from '../../../pkg/hints/policy/index.ts';
import { createClient } from '../../../pkg/kubernetes/client.ts';
import { loadKubeConfig } from '../../../pkg/kubernetes/kubeconfig.ts';
import { microTime } from '../../../pkg/kubernetes/lease.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { excludedNamespacesOf } from '../../../pkg/hints/served-namespaces.ts';
import { formatApplied } from '../../../pkg/routing/index.ts';
import { decideSettings } from '../../../pkg/webhook/routing-settings/decide.ts';
import type { AdmissionCase } from '../../fixtures/admission-cases.ts';
import { ADMISSION_CASES, DUPLICATE_CASES } from '../../fixtures/admission-cases.ts';
import { endpoint, service, slice } from '../../fixtures/core.ts';
import type { SettingsCase } from '../../fixtures/settings-cases.ts';
import { SETTINGS_CASES } from '../../fixtures/settings-cases.ts';
import { mastersGroup } from '../bed/kubeconfig.ts';
import type { BedPod, BedService } from '../bed/index.ts';
import { useBed } from '../bed/mocha.ts';
import type { SliceEndpoint } from '../bed/service.ts';
import { waitFor } from '../bed/wait-for.ts';
import { ownNamespace, startWebhook } from '../commands.ts';
import { comparedSlice, createAgreement, explain, named } from '../policy-agreement.ts';
import type { Agreement, AgreementOptions, Comparison, WriteCase } from '../policy-agreement.ts';
import { largestEndpoints, measure, measureSettings, reportCosts } from '../policy-cost.ts';
import type { Measurement } from '../policy-cost.ts';

const users = {
  controller: 'the-controller',
  planner: `system:serviceaccount:${ownNamespace}:flow-controller`,
  owner: 'the-owner',
  reconciler: `system:serviceaccount:${ownNamespace}:settings-reconciler`,
};
type User = keyof typeof users;
/** Where the policies act, where they are told not to, and where writes are measured. */
const [served, excluded, measured] = ['served', 'excluded', 'measured'] as const;

const options: AdmissionPoliciesOptions = {
  name: 'policy',
  excludedNamespaces: excludedNamespacesOf(ownNamespace, { included: [], excluded: [excluded] }),
  flowControllerUsers: ['somebody', users.planner],
  plannerAlive: true,
  settingsReconcilerUser: users.reconciler,
  keepSettings: true,
};
const { policies, bindings } = buildAdmissionPolicies(options);

type ByWebhook<C extends WriteCase> = Pick<AgreementOptions<C>, 'resourceOf' | 'patchOf' | 'compared'>;

const hintsByWebhook: ByWebhook<AdmissionCase> = {
  resourceOf: () => ENDPOINT_SLICES,
  patchOf(one, oldObject) {
    const decision = decideHints({
      object: one.object,
      oldObject,
      userName: users[one.by],
      flowControllerUsers: new Set([users.planner]),
      plannerAlive: one.plannerAlive,
      nodeHints: true,
    });
    return decision.kind === 'patch' ? decision.operations : [];
  },
  compared: comparedSlice,
};

const settingsByWebhook: ByWebhook<SettingsCase> = {
  resourceOf: () => SERVICES,
  patchOf({ by, object }, oldObject) {
    const settingsReconcilerUser = users.reconciler;
    const decision = decideSettings({ object, oldObject, userName: users[by], settingsReconcilerUser });
    return decision.kind === 'patch' ? decision.operations : [];
  },
  compared: (stored) => {
    const { metadata, spec } = stored as KubernetesObject & { spec?: { trafficDistribution?: string } };
    const { labels = {}, annotations = {} } = metadata ?? {};
    return { labels, annotations, trafficDistribution: spec?.trafficDistribution };
  },
};

/** Writes that the API server refuses agree as well, but say little. */
const expectAgreement = ({ disagreements, stored }: Comparison<WriteCase>, cases: number): void => {
  expect(disagreements.length, explain(disagreements)).to.equal(0);
  expect(stored, 'cases whose write was stored').to.be.above(0.9 * cases);
};

const isPlanned = (strategy: string): boolean =>
  HINT_STRATEGIES.some(({ name, planned }) => planned && name === strategy);

describe('admission policies generated from the table of strategies', () => {
  const bed = useBed();
  const clients = new Map<User, Client>();
  const clientOf = (by: User): Client => clients.get(by)!;
  const measurements: Measurement[] = [];
  let agreement: Agreement<AdmissionCase>;
  let keeping: Agreement<SettingsCase>;

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
    for (const policy of policies) await client.create<KubernetesObject>(MUTATING_ADMISSION_POLICIES, policy);
    for (const binding of bindings) await client.create<KubernetesObject>(MUTATING_ADMISSION_POLICY_BINDINGS, binding);
    await untilProbed('policy in force', isOwn);
  };

  const remove = async (): Promise<void> => {
    for (const { metadata } of bindings)
      await clientOf('controller').delete(MUTATING_ADMISSION_POLICY_BINDINGS, metadata);
    for (const { metadata } of policies) await clientOf('controller').delete(MUTATING_ADMISSION_POLICIES, metadata);
    await untilProbed('policy gone', (hints) => hints.includes('wrong'));
  };

  const plannedStrategies = STRATEGIES.filter(isPlanned);
  const setPlannerAlive = async (plannerAlive: boolean): Promise<void> => {
    for (const { metadata, spec } of buildAdmissionPolicies({ ...options, plannerAlive }).policies) {
      await clientOf('controller').patch(MUTATING_ADMISSION_POLICIES, metadata, 'merge', { spec });
    }
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
    const kept = carrier === 'none' ? undefined : 'PreferSameZone';
    const settingsCost = await measureSettings(carrier, measured, clientOf('owner'), ({ spec }) =>
      expect(spec?.trafficDistribution, `${carrier}: the field that its owner drops`).to.equal(kept),
    );
    measurements.push(settingsCost);
  };
  const ownOrPlanned = (strategy: string): number => (isPlanned(strategy) ? 2 : 1);

  before('clients, namespaces, and what is stored before any policy is', async () => {
    for (const by of Object.keys(users) as User[]) {
      const kubeconfig = await bed().kubeconfig({ user: users[by], groups: [mastersGroup] });
      clients.set(by, createClient({ config: loadKubeConfig({ kubeconfig }), userAgent: 'policy-test/1' }));
    }
    for (const name of [served, excluded, measured]) {
      await bed().api.create('/api/v1/namespaces', { metadata: { name, labels: { [LABEL_ROUTING]: 'true' } } });
    }
    const places = { clientOf, served, reference: excluded };
    const cases = [...ADMISSION_CASES, ...DUPLICATE_CASES];
    agreement = createAgreement({ ...places, cases, ...hintsByWebhook });
    keeping = createAgreement({ ...places, cases: SETTINGS_CASES, ...settingsByWebhook });
    await agreement.prepare();
    await keeping.prepare();
    await measureWith('none', () => 0);
    await install();
  });
  after(async () => {
    for (const client of clients.values()) await client.close();
  });

  it('leave excluded namespaces alone', async () => {
    for (const strategy of STRATEGIES) expect(await probe(strategy, excluded), strategy).to.contain('wrong');
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

  it(`keep the settings of Services as the webhook would: ${SETTINGS_CASES.length} cases`, async () => {
    expectAgreement(await keeping.compare(SETTINGS_CASES), SETTINGS_CASES.length);
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

  it('keep settings beside annotations as long as can be, and read no record of that length', async () => {
    const settings = { trafficDistribution: 'PreferSameZone' };
    const applied = formatApplied(settings) ?? '';
    const long =
      formatApplied({ ...settings, removedAnnotations: { [ANNOTATION_TOPOLOGY_MODE]: 'z'.repeat(250_000) } }) ?? '';
    const write = async (name: string, annotations: Record<string, string>): Promise<string | undefined> => {
      const metadata = { namespace: served, name, annotations };
      const { metadata: stored } = await clientOf('reconciler').create(
        SERVICES,
        service({ metadata, spec: { clusterIP: 'None', ...settings } }),
      );
      const { resourceVersion = '' } = stored ?? {};
      const dropped = service({ metadata: { ...metadata, resourceVersion }, spec: { clusterIP: 'None' } });
      return (await clientOf('owner').update(SERVICES, dropped)).spec?.trafficDistribution;
    };
    expect(await write('long-beside', { [ANNOTATION_APPLIED]: applied, other: long })).to.equal('PreferSameZone');
    expect(await write('long-record', { [ANNOTATION_APPLIED]: long })).to.equal(undefined);
  });

  describe('with the real EndpointSlice controller', () => {
    let pods: BedPod[];
    let web: BedService;
    const plan = ['a', 'b'];
    const zonesOf = ({ hints }: SliceEndpoint): string[] => (hints?.forZones ?? []).map(({ name }) => name);

    before('a Service in two zones', async () => {
      const nodes = await Promise.all(plan.map((zone) => bed().node({ name: `node-${zone}`, zone })));
      pods = await Promise.all(nodes.map((node) => bed().pod({ node, app: 'web', namespace: served })));
      web = await bed().service({ name: 'web', namespace: served });
      await web.patch({ metadata: { labels: { [LABEL_STRATEGY]: 'load-aware' } } });
    });

    it('hint every endpoint for its own zone as it is published', async () => {
      const isHinted = (one: SliceEndpoint): boolean => zonesOf(one).join() === one.zone;
      await waitFor(
        'own zone on both',
        () => web.endpoints(),
        (all) => all.length === 2 && all.every(isHinted),
      );
    });

    it('keep what the planner wrote through the writes of the controller', async () => {
      const [stored] = await web.slices();
      const { metadata } = stored!;
      const endpoints = (stored!.endpoints ?? []).map((one) => ({
        ...one,
        hints: { forZones: plan.map((name) => ({ name })) },
      }));
      await clientOf('planner').patch(ENDPOINT_SLICES, metadata, 'merge', { endpoints });
      await pods[0]!.setReady(false);
      const published = await waitFor(
        'readiness published',
        () => web.endpoints(),
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
