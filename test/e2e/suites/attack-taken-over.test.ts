// Each component as somebody who took it over would use it: with its ServiceAccount against the real API server and the chart's guards.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { ENDPOINT_SLICES, MUTATING_WEBHOOK_CONFIGURATIONS, NODES, SERVICES } from '../../../pkg/apis/resources.ts';
import { ApiError } from '../../../pkg/kubernetes/errors.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { gardenerCrds } from '../../fixtures/crds.ts';
import { extension } from '../../fixtures/gardener.ts';
import { nodeGroupCrd } from '../../fixtures/kubeedge.ts';
import { platformCrds } from '../../fixtures/platform-crds.ts';
import { ALIEN, ATTACKS, endpoints, EXTENSION, NEEDED, NODE, ROLE, SERVICE, SLICE, VICTIM } from '../attack-writes.ts';
import type { Write } from '../attack-writes.ts';
import { useBed } from '../bed/index.ts';
import { waitFor } from '../bed/machine.ts';
import { COMPONENTS, type Component, FLOW, INJECTED, NAMESPACE, WEBHOOK, openHelm, root } from '../chart.ts';
import { apply, applyDefinitions } from '../commands.ts';
import { connectAs } from '../hints-support.ts';

const registration = (change: (webhook: Record<string, unknown>) => object, name = ROLE): KubernetesObject =>
  ({
    metadata: { name },
    webhooks: [
      change({
        name: 'a.example.com',
        clientConfig: { service: { namespace: NAMESPACE, name: WEBHOOK, path: '/x' } },
        rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['services'], operations: ['CREATE'] }],
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        failurePolicy: 'Ignore',
      }),
    ],
  }) as KubernetesObject;

const rule = (more: object): object => ({
  apiGroups: [''],
  apiVersions: ['v1'],
  resources: ['services'],
  operations: ['CREATE'],
  ...more,
});

describe('attack: a component that was taken over', () => {
  const bed = useBed();
  const clients = new Map<string, Client>();

  const as = (component: Component | 'somebody else'): Client => clients.get(component)!;
  const write = async ({ by, resource, ref, patch, subresource }: Write, client = as(by)): Promise<unknown> =>
    client.patch(resource, ref, 'merge', patch, subresource === undefined ? {} : { subresource });
  const create = (object: KubernetesObject): Promise<unknown> =>
    as(WEBHOOK).create(MUTATING_WEBHOOK_CONFIGURATIONS, object);
  /** The words of the guard, or what happened instead. */
  const denial = async (attempt: Promise<unknown>): Promise<string> =>
    attempt.then(
      () => 'it was stored',
      (error: unknown) =>
        error instanceof ApiError && error.status === 403 ? error.message : `other: ${String(error)}`,
    );

  before('the chart as a seed that is also the garden runtime gets it, and what there is to attack', async () => {
    const { api } = bed();
    await applyDefinitions(bed(), [...gardenerCrds(), ...platformCrds(), nodeGroupCrd()]);
    for (const name of [NAMESPACE, 'garden']) await api.create('/api/v1/namespaces', { metadata: { name } });
    await api.create('/api/v1/namespaces', { metadata: { name: VICTIM, labels: { tier: 'secret' } } });
    await apply(bed(), 'flowpolicies.yaml', readFileSync(join(root, 'example/flow/crd.yaml'), 'utf8'));
    const helm = await openHelm();
    const values = { flowController: { enabled: true, nodeGroups: true, trafficProof: true } };
    await apply(bed(), 'chart.yaml', await helm.template({ ...INJECTED['seed and runtime'], ...values }));
    await api.create(`/api/v1/namespaces/${VICTIM}/services`, {
      metadata: { name: SERVICE.name, labels: { app: 'bank' } },
      spec: { selector: { app: 'bank' }, ports: [{ port: 443 }] },
    });
    await api.create(`/apis/discovery.k8s.io/v1/namespaces/${VICTIM}/endpointslices`, {
      metadata: { name: SLICE.name, labels: { 'kubernetes.io/service-name': 'bank' } },
      addressType: 'IPv4',
      ports: [{ name: 'https', port: 443, protocol: 'TCP' }],
      ...endpoints({}),
    });
    const extensionsPath = `/apis/extensions.gardener.cloud/v1alpha1/namespaces/${VICTIM}/extensions`;
    const own = extension();
    await api.create(extensionsPath, { ...own, metadata: { name: EXTENSION.name, finalizers: ['other.example/x'] } });
    await api.create(extensionsPath, { ...own, metadata: { name: ALIEN.name }, spec: { ...own.spec, type: 'dns' } });
    await api.create('/api/v1/nodes', { metadata: NODE });

    for (const component of COMPONENTS) {
      const groups = ['system:serviceaccounts', `system:serviceaccounts:${NAMESPACE}`];
      clients.set(component, await connectAs(bed(), `system:serviceaccount:${NAMESPACE}:${component}`, groups));
    }
    clients.set('somebody else', await connectAs(bed(), 'admin'));
    // The last one that the API server learns of; each try stores something else until then.
    let tries = 0;
    await waitFor(
      'the guards are in force',
      () => denial(create(registration((webhook) => webhook, `try-${(tries += 1)}`))),
      (said) => said.includes('guard-registration'),
    );
  });

  for (const attempt of ATTACKS) {
    it(`${attempt.by} ${attempt.what} (${attempt.resource.kind}): refused`, async () => {
      expect(await denial(write(attempt))).to.match(/ValidatingAdmissionPolicy .*guard-.* denied request: /);
    });
  }

  for (const needed of NEEDED) {
    it(`${needed.by} ${needed.what} (${needed.resource.kind}): as ever`, async () => {
      await write(needed);
    });
  }

  it('others meet no guard: an administrator may do all of it', async () => {
    for (const attempt of ATTACKS.filter(({ resource }) => resource === SERVICES || resource === NODES)) {
      const dryRun = { dryRun: true };
      await as('somebody else')
        .patch(attempt.resource, attempt.ref, 'merge', attempt.patch, dryRun)
        .catch((error: unknown) => {
          expect(String(error), attempt.what).not.to.contain('guard-');
        });
    }
  });

  describe('the webhook', () => {
    const attacks: Record<string, KubernetesObject> = {
      'registers under another name': registration((webhook) => webhook, 'kube-system-defaults'),
      'registers an address of its own': registration((webhook) => ({
        ...webhook,
        clientConfig: { url: 'https://evil.example.com/x' },
      })),
      "registers somebody else's Service": registration((webhook) => ({
        ...webhook,
        clientConfig: { service: { namespace: 'kube-system', name: 'evil' } },
      })),
      'asks to see Secrets': registration((webhook) => ({ ...webhook, rules: [rule({ resources: ['secrets'] })] })),
      'asks to see everything': registration((webhook) => ({
        ...webhook,
        rules: [rule({ apiGroups: ['*'], resources: ['*/*'] })],
      })),
      'asks to see deletions': registration((webhook) => ({ ...webhook, rules: [rule({ operations: ['*'] })] })),
    };
    for (const [what, object] of Object.entries(attacks)) {
      it(`${what}: refused`, async () => {
        expect(await denial(create(object))).to.match(/guard-registration.* denied request: /);
      });
    }
    it('registers itself, and changes that only within its own', async () => {
      await create(registration((webhook) => webhook));
      const stored = await as(WEBHOOK).get(MUTATING_WEBHOOK_CONFIGURATIONS, { name: ROLE });
      const { metadata: { resourceVersion } = {} } = stored;
      const changed = attacks['asks to see Secrets']!;
      const update = { ...changed, metadata: { ...changed.metadata, resourceVersion } } as KubernetesObject;
      expect(await denial(as(WEBHOOK).update(MUTATING_WEBHOOK_CONFIGURATIONS, update))).to.contain(
        'guard-registration',
      );
    });
  });

  it('a slice of a thousand endpoints is within what a policy may cost', async () => {
    const many = (zone?: string): object => ({
      endpoints: Array.from({ length: 1_000 }, (_, index) => ({
        addresses: [`198.51.${Math.floor(index / 250)}.${index % 250}`],
        conditions: { ready: true, serving: true, terminating: false },
        nodeName: `node-${index % 100}`,
        zone: `eu-1${'abc'.charAt(index % 3)}`,
        targetRef: { kind: 'Pod', namespace: VICTIM, name: `bank-${index}`, uid: `uid-${index}` },
        ...(zone === undefined ? {} : { hints: { forZones: [{ name: zone }] } }),
      })),
    });
    await bed().api.create(`/apis/discovery.k8s.io/v1/namespaces/${VICTIM}/endpointslices`, {
      metadata: { name: 'large', labels: { 'kubernetes.io/service-name': 'bank' } },
      addressType: 'IPv4',
      ports: [],
      ...many(),
    });
    const large = { namespace: VICTIM, name: 'large' };
    await as(FLOW).patch(ENDPOINT_SLICES, large, 'merge', many('eu-1a'));
    const moved = many('eu-1a') as { endpoints: object[] };
    const patch = { endpoints: moved.endpoints.slice(1) };
    expect(await denial(as(FLOW).patch(ENDPOINT_SLICES, large, 'merge', patch))).to.contain('guard-endpointslices');
  });
});
