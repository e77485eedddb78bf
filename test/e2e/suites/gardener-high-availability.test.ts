// Gardener's high-availability webhook on the chart's Deployments: it spreads the Pods, changes nothing else, and a second apply changes nothing.
// Needs built: gardener/gardener-1.141/gardener-resource-manager
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { ZONES } from '../../fixtures/gardener.ts';
import { shellBlocks } from '../../support/docs/markdown.ts';
import { base64Of, mastersGroup } from '../bed/access.ts';
import { useBed } from '../bed/index.ts';
import { run } from '../bed/machine.ts';
import { asText, COMPONENTS, documents, INJECTED, useHelm } from '../chart.ts';
import { apply, applyDefinitions } from '../commands.ts';
import { realDefinitions } from '../gardener/owner.ts';
import { MANAGER_URL, startResourceManager } from '../gardener/resource-manager.ts';

const SPREAD = 'runtime-extension-topology-aware-routing';
const PLAIN = 'plain';
const HIGH_AVAILABILITY = 'high-availability-config.resources.gardener.cloud';

interface Constraint {
  readonly topologyKey: string;
  readonly maxSkew: number;
  readonly whenUnsatisfiable: string;
  readonly labelSelector: { readonly matchLabels: Readonly<Record<string, string>> };
}
interface Deployment {
  readonly metadata: { readonly name: string; readonly generation: number };
  readonly spec: {
    readonly replicas: number;
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: Readonly<Record<string, unknown>> & { readonly topologySpreadConstraints?: readonly Constraint[] };
    };
  };
}

/** The page's own commands for the namespace, up to the installation. */
const namespaceCommands = (): string => {
  const blocks = shellBlocks('docs/operations/install.md').filter(
    ({ chapter }) => chapter === 'Garden runtime cluster',
  );
  const text = blocks.find((block) => block.text.includes('kubectl create namespace'))?.text ?? '';
  return text.slice(0, text.indexOf('helm install'));
};

describe('gardener: high availability', () => {
  const bed = useBed();
  const { helm } = useHelm();
  let objects: readonly object[];

  const deployment = (namespace: string, name: string): Promise<Deployment> =>
    bed().api.get<Deployment>(`/apis/apps/v1/namespaces/${namespace}/deployments/${name}`);
  const install = (namespace: string): Promise<string> =>
    apply(bed(), `${namespace}.yaml`, asText(objects), '--force-conflicts', `--namespace=${namespace}`);

  before(
    "the resource manager's webhook, registered as Gardener does, and a namespace as install.md makes it",
    async () => {
      await applyDefinitions(bed(), await realDefinitions());
      for (const zone of ZONES) {
        const labels = { 'topology.kubernetes.io/zone': zone };
        await bed().api.create('/api/v1/nodes', { metadata: { name: `node-${zone}`, labels } });
      }
      await startResourceManager(bed(), { version: '1.141', highAvailability: true });
      // NewHighAvailabilityConfigMutatingWebhook in pkg/component/gardener/resourcemanager/resource_manager.go of Gardener v1.141.
      await bed().api.create('/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations', {
        metadata: { name: 'gardener-resource-manager-seed' },
        webhooks: [
          {
            name: HIGH_AVAILABILITY,
            rules: [
              {
                apiGroups: ['apps'],
                apiVersions: ['v1'],
                resources: ['deployments', 'statefulsets'],
                operations: ['CREATE', 'UPDATE'],
              },
            ],
            namespaceSelector: { matchLabels: { [`${HIGH_AVAILABILITY}/consider`]: 'true' } },
            objectSelector: { matchExpressions: [{ key: `${HIGH_AVAILABILITY}/skip`, operator: 'DoesNotExist' }] },
            clientConfig: {
              url: `${MANAGER_URL}/webhooks/high-availability-config`,
              caBundle: base64Of(bed().pki.authority.certificate),
            },
            admissionReviewVersions: ['v1beta1', 'v1'],
            failurePolicy: 'Fail',
            matchPolicy: 'Exact',
            sideEffects: 'None',
            timeoutSeconds: 10,
          },
        ],
      });
      const kubeconfig = await bed().kubeconfig({ user: 'operator', groups: [mastersGroup] });
      const [enter, ...prefix] = bed().enter;
      const commands = namespaceCommands().replaceAll(/^kubectl /gm, `${bed().binaries('kubectl')} `);
      await run(enter, [...prefix, 'env', `KUBECONFIG=${kubeconfig}`, 'sh', '-ec', commands]);
      await bed().api.create('/api/v1/namespaces', { metadata: { name: PLAIN } });
      const values = { ...INJECTED.runtime, flowController: { enabled: true } };
      objects = documents(await helm().template(values, { namespace: SPREAD }))
        .filter(({ kind }) => kind === 'Deployment')
        .map(({ metadata, ...object }) => ({ ...object, metadata: { ...metadata, namespace: undefined } }));
      for (const namespace of [SPREAD, PLAIN]) await install(namespace);
    },
  );

  for (const component of COMPONENTS) {
    it(`spreads the Pods of ${component} over zones and nodes, by their own labels`, async () => {
      const { replicas, template } = (await deployment(SPREAD, component)).spec;
      expect(replicas).to.equal(2);
      const constraints = template.spec.topologySpreadConstraints ?? [];
      expect(constraints.map(({ topologyKey, maxSkew }) => `${topologyKey} ${maxSkew}`).sort()).to.deep.equal([
        'kubernetes.io/hostname 1',
        'topology.kubernetes.io/zone 1',
      ]);
      for (const { labelSelector } of constraints)
        expect(labelSelector.matchLabels).to.deep.equal(template.metadata.labels);
    });

    it(`changes nothing else of ${component}`, async () => {
      const [spread, plain] = await Promise.all([deployment(SPREAD, component), deployment(PLAIN, component)]);
      const fields = Object.keys({ ...spread.spec.template.spec, ...plain.spec.template.spec });
      const changed = fields.filter(
        (field) => !isDeepStrictEqual(spread.spec.template.spec[field], plain.spec.template.spec[field]),
      );
      expect(changed.sort()).to.deep.equal(['tolerations', 'topologySpreadConstraints']);
      const { template: _spread, ...ours } = spread.spec;
      const { template: _plain, ...theirs } = plain.spec;
      expect(ours).to.deep.equal(theirs);
      expect(spread.spec.template.metadata).to.deep.equal(plain.spec.template.metadata);
    });
  }

  it('leaves every Deployment as it is when the same chart is applied again', async () => {
    const generations = (): Promise<number[]> =>
      Promise.all(COMPONENTS.map(async (name) => (await deployment(SPREAD, name)).metadata.generation));
    const earlier = await generations();
    await install(SPREAD);
    expect(await generations()).to.deep.equal(earlier);
  });
});
