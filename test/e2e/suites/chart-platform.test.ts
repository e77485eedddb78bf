// SPDX-License-Identifier: Apache-2.0
// What the chart renders only where it is wanted or served: VerticalPodAutoscalers, NetworkPolicies, and the notes after it.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { COMPONENTS, FLOW, INJECTED, RECONCILER, WEBHOOK, documents } from '../chart.ts';
import type { Rendered } from '../chart.ts';
import { useHelm } from '../chart-renderings.ts';

const VPA = 'autoscaling.k8s.io/v1';

describe('chart, platform', () => {
  const { helm } = useHelm();
  const all = { flowController: { enabled: true } };

  const rendered = async (kind: string, values: object, serves: readonly string[] = []): Promise<Rendered[]> =>
    documents(await helm().template({ ...all, ...values }, { serves })).filter((object) => object.kind === kind);
  const namesOf = (objects: readonly Rendered[]): string[] => objects.map(({ metadata }) => metadata?.name ?? '');

  describe('VerticalPodAutoscalers', () => {
    const wanted = [
      { name: 'on a plain cluster without one', values: {}, serves: [], count: 0 },
      { name: 'on a plain cluster that serves them', values: {}, serves: [VPA], count: 3 },
      { name: 'on a plain cluster, switched on', values: { vpa: { enabled: true } }, serves: [], count: 3 },
      { name: 'on a seed, which has one by contract', values: INJECTED.seed, serves: [], count: 3 },
      { name: 'on a garden runtime', values: INJECTED.runtime, serves: [], count: 3 },
      {
        name: 'on a seed, switched off',
        values: { ...INJECTED.seed, vpa: { enabled: false } },
        serves: [VPA],
        count: 0,
      },
    ];
    for (const { name, values, serves, count } of wanted) {
      it(`are ${count === 0 ? 'not rendered' : 'rendered'} ${name}`, async () => {
        expect(namesOf(await rendered('VerticalPodAutoscaler', values, serves))).to.have.lengthOf(count);
      });
    }

    it("size requests of this project's container, and leave limits and other containers alone", async () => {
      const objects = await rendered('VerticalPodAutoscaler', {
        vpa: { enabled: true, minAllowed: { memory: '80Mi' } },
      });
      expect(namesOf(objects).sort()).to.deep.equal([...COMPONENTS].sort());
      for (const { metadata, spec } of objects) {
        const name = metadata?.name;
        expect(spec?.targetRef).to.deep.equal({ apiVersion: 'apps/v1', kind: 'Deployment', name });
        expect(spec?.resourcePolicy?.containerPolicies).to.deep.equal([
          { containerName: name, controlledValues: 'RequestsOnly', minAllowed: { cpu: '10m', memory: '80Mi' } },
          { containerName: '*', mode: 'Off' },
        ]);
      }
    });

    const seedOf = (version: unknown): object => ({ gardener: { version, seed: { name: 'eu-1' } } });
    const modes = [
      { name: 'a plain cluster', values: {}, mode: 'Recreate' },
      { name: 'a seed of Gardener v1.140', values: seedOf('v1.140.0'), mode: 'Recreate' },
      { name: 'a seed of Gardener v1.142', values: seedOf('v1.142.0'), mode: 'InPlaceOrRecreate' },
      { name: 'a seed of a Gardener in development', values: seedOf('v1.150.0-dev'), mode: 'InPlaceOrRecreate' },
      { name: 'a seed that does not tell', values: seedOf(undefined), mode: 'Recreate' },
      { name: 'a seed that tells nonsense', values: seedOf('main'), mode: 'Recreate' },
      { name: 'a choice', values: seedOf('v1.150.0'), choice: 'Initial', mode: 'Initial' },
    ];
    for (const { name, values, choice = '', mode } of modes) {
      it(`act by ${mode} with ${name}`, async () => {
        const vpa = { enabled: true, updateMode: choice };
        const objects = await rendered('VerticalPodAutoscaler', { ...values, vpa });
        expect(new Set(objects.map(({ spec }) => spec?.updatePolicy?.updateMode))).to.deep.equal(new Set([mode]));
      });
    }
  });

  describe('NetworkPolicies', () => {
    it('are not rendered unless asked for: Gardener has its own, and a cluster may have none', async () => {
      for (const values of Object.values(INJECTED)) expect(await rendered('NetworkPolicy', values)).to.be.empty;
    });

    const portsOf = (rules: readonly { ports?: { port: number }[] }[] = []): number[] =>
      rules.flatMap(({ ports = [] }) => ports.map(({ port }) => port)).sort((a, b) => a - b);

    it('let in who scrapes, to the webhook who asks, and out to DNS and API servers', async () => {
      const objects = await rendered('NetworkPolicy', { networkPolicy: { enabled: true } });
      const deployments = await rendered('Deployment', {});
      expect(namesOf(objects).sort()).to.deep.equal([...COMPONENTS].sort());
      for (const { metadata, spec } of objects) {
        const name = metadata?.name;
        const own = deployments.find((object) => object.metadata?.name === name)!.spec!;
        expect(spec?.podSelector, name).to.deep.equal(own.selector);
        expect(spec?.policyTypes, name).to.deep.equal(['Ingress', 'Egress']);
        const ports = own.template!.spec.containers[0]!.ports;
        // The health port is for the kubelet, which no policy keeps out.
        const open = ports.filter((port) => port.name !== 'health').map(({ containerPort }) => containerPort);
        expect(portsOf(spec?.ingress), name).to.deep.equal(open.sort((a, b) => a - b));
        expect(portsOf(spec?.egress), name).to.deep.equal([53, 53, 443, 6443]);
        for (const { ports: to, from } of spec?.ingress ?? []) {
          expect(from === undefined, `${name}: who may come to ${to[0]?.port}`).to.equal(to[0]?.port === 10_250);
        }
      }
    });

    const webhookCallers = [
      { ipBlock: { cidr: '192.0.2.0/28' } },
      { podSelector: { matchLabels: { app: 'konnectivity-agent' } } },
    ];

    it('guard the port of the webhook by default where it is known who calls it', async () => {
      const [policy, ...others] = await rendered('NetworkPolicy', { networkPolicy: { webhookCallers } });
      expect([policy?.metadata?.name, others]).to.deep.equal([WEBHOOK, []]);
      expect(policy?.spec?.policyTypes).to.deep.equal(['Ingress']);
      expect(policy?.spec).not.to.have.property('egress');
      const [scrape, review] = policy?.spec?.ingress ?? [];
      expect(scrape?.ports.map(({ port }) => port)).to.deep.equal([8080]);
      expect(review).to.deep.equal({ ports: [{ protocol: 'TCP', port: 10_250 }], from: webhookCallers });
      expect(await rendered('NetworkPolicy', { networkPolicy: { enabled: false, webhookCallers } })).to.be.empty;
    });

    it('take the place of what Gardener opens to the world', async () => {
      const annotation = 'networking.resources.gardener.cloud/from-world-to-ports';
      for (const [callers, open] of [
        [[], true],
        [webhookCallers, false],
      ] as const) {
        const values = { ...INJECTED.seed, networkPolicy: { webhookCallers: callers } };
        const service = (await rendered('Service', values)).find(({ metadata }) => metadata?.name === WEBHOOK);
        expect(annotation in (service?.metadata?.annotations ?? {})).to.equal(open);
        expect(Object.keys(service?.metadata?.annotations ?? {}), 'those of the scrapes stay').to.have.length.above(2);
      }
    });

    it('name scrapers, API servers and the sources of load as configured', async () => {
      const scrapers = [{ namespaceSelector: { matchLabels: { team: 'monitoring' } }, podSelector: {} }];
      const egress = [{ to: [{ podSelector: {} }], ports: [{ port: 9090 }] }];
      const measuring = [{ ports: [{ port: 9091 }] }];
      const further: Record<string, object[]> = { [FLOW]: egress, [RECONCILER]: measuring };
      const objects = await rendered('NetworkPolicy', {
        flowController: { enabled: true, egress },
        settingsReconciler: { egress: measuring },
        networkPolicy: {
          enabled: true,
          scrapers,
          apiServerPorts: [8443],
          apiServerCidrs: ['192.0.2.0/24', '2001:db8::/64'],
        },
      });
      for (const { metadata, spec } of objects) {
        expect(spec?.ingress?.[0]?.from).to.deep.equal(scrapers);
        const [, api, ...more] = spec?.egress ?? [];
        expect(api?.ports?.map(({ port }) => port)).to.deep.equal([8443]);
        expect(api?.to).to.deep.equal([{ ipBlock: { cidr: '192.0.2.0/24' } }, { ipBlock: { cidr: '2001:db8::/64' } }]);
        expect(more).to.deep.equal(further[metadata?.name ?? ''] ?? []);
      }
    });
  });

  describe('notes', () => {
    it('say what was installed, where, and what to do next', async () => {
      const text = await helm().notes({});
      expect(text).to.contain(`in namespace 2026: ${RECONCILER}, ${WEBHOOK}.`);
      expect(text).to.contain('Modes: cluster. Admission: auto.').and.to.contain('kubectl -n 2026 wait');
      expect(text).not.to.contain('FlowPolicies').and.not.to.contain('failurePolicy');
    });

    it('warn of what is special about the choice', async () => {
      const webhook = { endpointsliceWebhook: { failurePolicy: 'Fail' } };
      const text = await helm().notes({ ...INJECTED.seed, ...all, ...webhook });
      expect(text).to.contain('Modes: seed.').and.to.contain('definition of FlowPolicies');
      expect(text).to.contain('failurePolicy is Fail');
    });

    it('say so when every component is off', async () => {
      const off = { settingsReconciler: { enabled: false }, endpointsliceWebhook: { enabled: false } };
      expect(await helm().notes(off)).to.contain('nothing, since every component is off');
    });
  });
});
