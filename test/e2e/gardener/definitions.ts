// The CustomResourceDefinitions of Gardener and etcd-druid, out of the very modules that their programs are built from.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Garden } from '../../../pkg/apis/gardener.ts';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { run } from '../bed/machine.ts';
import { documents, root } from '../chart.ts';

const folders = {
  'github.com/gardener/gardener': 'owner',
  'github.com/gardener/etcd-druid/api': 'etcd-druid-0.36',
} as const;

/** Where the module cache has a module, at the version that hack/gardener builds; downloads it where it is missing. */
export const moduleFolder = async (module: keyof typeof folders): Promise<string> => {
  const output = await run('go', [
    '-C',
    join(root, 'hack/gardener', folders[module]),
    'mod',
    'download',
    '-json',
    module,
  ]);
  return (JSON.parse(output) as { Dir: string }).Dir;
};

const read = (folder: string, isWanted: (file: string) => boolean): KubernetesObject[] =>
  readdirSync(folder)
    .filter((file) => file.endsWith('.yaml') && isWanted(file))
    .map((file) => parse(readFileSync(join(folder, file), 'utf8')) as KubernetesObject);

/** Those that gardenlet and gardener-operator watch (gardenlet ends after two minutes without), and that the components write. */
const OF_SEED =
  /extensions\.gardener\.cloud_|_(managedresources|servicemonitors|prometheusrules|verticalpodautoscalers)\.yaml$/;

/** All of a seed that is also a garden runtime that routing, or its owners, have to do with. */
export const realDefinitions = async (): Promise<KubernetesObject[]> => {
  const gardener = await moduleFolder('github.com/gardener/gardener');
  const druid = await moduleFolder('github.com/gardener/etcd-druid/api');
  return [
    ...read(join(gardener, 'example/seed-crds'), (file) => file.startsWith('10-crd-') && OF_SEED.test(file)),
    ...read(join(gardener, 'example/operator'), (file) => file.startsWith('10-crd-operator.gardener.cloud')),
    ...read(join(druid, 'core/v1alpha1/crds'), (file) => !file.includes('without_cel')),
  ];
};

/** Gardener's own example of a Garden, three zones, with the setting off: the definition asks for much more than routing reads. */
export const realGarden = async (zones: readonly string[]): Promise<Garden> => {
  const file = join(await moduleFolder('github.com/gardener/gardener'), 'example/operator/20-garden.yaml');
  // kubectl leaves out what is null, as in a section whose fields are all commented out.
  const found = documents<Garden>(readFileSync(file, 'utf8')).find(({ kind }) => kind === 'Garden');
  const { spec, ...example } = JSON.parse(
    JSON.stringify(found ?? {}),
    (_, value: unknown) => value ?? undefined,
  ) as Garden;
  const { provider, ...runtimeCluster } = spec?.runtimeCluster ?? {};
  const settings = { topologyAwareRouting: { enabled: false } };
  return {
    ...example,
    metadata: { name: 'garden' },
    spec: {
      ...spec,
      runtimeCluster: { ...runtimeCluster, provider: { ...provider, zones: [...zones] }, settings },
      virtualCluster: { ...spec?.virtualCluster, controlPlane: { highAvailability: {} } },
    },
  };
};
