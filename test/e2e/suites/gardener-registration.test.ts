// Every example for Gardener, accepted by the real gardener-apiserver and the real definitions; the chart, rendered by gardenlet's renderer.
// Soak: its programs take most of an hour to build.
// Needs built: gardener/gardener-1.141/gardener-apiserver, gardener/owner/owner
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { stringify } from 'yaml';
import type { Garden } from '../../../pkg/apis/gardener.ts';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { ZONES } from '../../fixtures/gardener.ts';
import { useBed } from '../bed/index.ts';
import { run } from '../bed/machine.ts';
import { asText, chart, documents, root } from '../chart.ts';
import { apply, applyDefinitions } from '../commands.ts';
import { askGardener, realDefinitions, realGarden, RUNTIME } from '../gardener/owner.ts';
import { createSeedAndShoot, seedObject, startVirtualGarden, storedSeed } from '../gardener/virtual-garden.ts';

const EXAMPLES = join(root, 'example/gardener');
/** As in the examples. */
const NAMES = { seed: 'my-seed', project: 'my-project', shoot: 'my-shoot' };

type Deployment = KubernetesObject & { helm: { values?: object } };
type OperatorExtension = KubernetesObject & {
  spec: { deployment: { extension: { values?: object; runtimeClusterValues?: object } } };
};

describe('gardener: registration', () => {
  const bed = useBed();
  const strict = (name: string, text: string): Promise<string> => apply(bed(), name, text, '--force-conflicts');
  /** As another writer: what the examples leave out stays. */
  const prepare = (name: string, text: string): Promise<string> =>
    apply(bed(), name, text, '--field-manager=landscape');
  const refusal = (name: string, object: object): Promise<string> =>
    strict(name, JSON.stringify(object)).then(() => 'accepted', String);
  const example = (file: string): string => readFileSync(join(EXAMPLES, file), 'utf8');
  const examples = readdirSync(EXAMPLES)
    .filter((file) => file.endsWith('.yaml') && !file.includes('values'))
    .sort();

  before('a virtual garden that is its own runtime, with a Seed, a Shoot and a Garden', async () => {
    await applyDefinitions(bed(), await realDefinitions());
    await startVirtualGarden(bed());
    await createSeedAndShoot(bed(), prepare, NAMES);
    await prepare('garden.yaml', stringify(await realGarden(ZONES)));
    await strict('registration.yaml', example('controllerregistration.yaml'));
  });

  for (const file of examples) {
    it(`accepts every field of example/gardener/${file}`, async () => {
      const printed = await strict(file, example(file));
      for (const { kind, metadata } of documents(example(file)))
        expect(printed).to.match(new RegExp(`^${kind?.toLowerCase()}.*/${metadata?.name} serverside-applied$`, 'm'));
    });
  }

  it('refuses the setting on a Seed of one zone, as our own check expects', async () => {
    expect(await refusal('one-zone.json', seedObject('one-zone', ['eu-1a']))).to.contain(
      'topology-aware routing can only be enabled on multi-zone Seed clusters',
    );
  });

  describe('the chart, by the renderer and with the values of gardenlet', () => {
    /** A chart's manifests for a ControllerInstallation; the namespace is Gardener's. */
    const render = async (values: object): Promise<KubernetesObject[]> => {
      const archive = join(bed().directory, 'chart.tgz');
      await run('tar', ['-czf', archive, '-C', dirname(chart), basename(chart)]);
      const given = join(bed().directory, 'values.json');
      writeFileSync(given, JSON.stringify(values));
      const seed = await storedSeed(bed(), NAMES.seed);
      const flags = ['--chart', archive, '--values', given, '--seed', seed, '--runtime', RUNTIME];
      return documents<KubernetesObject>(await askGardener(['render', ...flags, '--namespace', 'extension-tar']));
    };
    const registered = (): object => {
      const deployment = documents<Deployment>(example('controllerregistration.yaml')).find(
        ({ kind }) => kind === 'ControllerDeployment',
      );
      return deployment?.helm.values ?? {};
    };
    const operated = () => documents<OperatorExtension>(example('extension.yaml'))[0]?.spec.deployment.extension;
    const overwrite = {
      imageVectorOverwrite: { images: [{ name: 'topology', repository: 'registry.example.com/x' }] },
    };
    const cases: readonly (readonly [string, () => object])[] = [
      ['the ControllerDeployment', registered],
      ["gardener-operator's Extension", () => operated()?.values ?? {}],
      ['an image vector of the landscape', () => ({ ...registered(), ...overwrite })],
      ['the flow-controller too', () => ({ ...registered(), flowController: { enabled: true } })],
    ];

    before(() => bed().api.create('/api/v1/namespaces', { metadata: { name: 'extension-tar' } }));

    for (const [name, values] of cases) {
      it(`is rendered for ${name}, and strictly accepted by the API server`, async () => {
        const objects = await render(values());
        expect(objects.map(({ kind }) => kind)).to.include.members(['Deployment', 'ClusterRole', 'ServiceAccount']);
        await strict('rendered.yaml', asText(objects));
      });
    }

    it('brings the definitions of the components that run, for the renderer leaves out crds/', async () => {
      const objects = await render({ ...registered(), flowController: { enabled: true } });
      const definitions = objects.filter(({ kind }) => kind === 'CustomResourceDefinition');
      expect(definitions.map(({ metadata }) => metadata?.name)).to.have.members([
        'flowpolicies.topology.extensions.gardener.cloud',
        'zoneevacuations.topology.extensions.gardener.cloud',
      ]);
    });
  });

  it("keeps the Garden's setting where its example adds the extension", async () => {
    const { spec } = await bed().api.get<Garden>('/apis/operator.gardener.cloud/v1alpha1/gardens/garden');
    expect(spec?.runtimeCluster?.settings).to.have.property('topologyAwareRouting');
    expect(spec).to.have.property('extensions').with.lengthOf(1);
  });
});
