// `hack/node hack/delivery.ts --registry REGISTRY --base LAYOUT`, after `npm run bundle`: what a release is to Gardener, in
// dist/delivery/, pinned by digest. Nothing is pushed, and nothing is read from a registry.
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { layChart } from './delivery/chart.ts';
import { type Delivered, imageVectorOf, layComponent } from './delivery/component.ts';
import { layImage } from './delivery/image.ts';
import type { Descriptor } from './lib/oci.ts';

const root = resolve(import.meta.dirname, '..');
const PLACEHOLDER = 'registry.example.com';
const USAGE =
  'usage: hack/node hack/delivery.ts --registry REGISTRY --base FOLDER [--conntrack FOLDER]\n' +
  '  --registry  where image and chart will be pushed, for example registry.example.com/gardener\n' +
  '  --base      OCI image layout of the base that hack/image/Dockerfile names\n' +
  "  --conntrack for the meter's image: amd64 and arm64 with Debian's packages of conntrack, unpacked\n";

export interface DeliveryOptions {
  /** Filled anew. */
  readonly target: string;
  readonly registry: string;
  /** OCI image layout of the image's base. */
  readonly base: string;
  /** The folder that `npm run bundle` fills. */
  readonly bundle: string;
  /** For the meter's image: a folder for each architecture. Default: that image is no part of the delivery. */
  readonly conntrack?: string | undefined;
}

const read = (file: string): string => readFileSync(join(root, file), 'utf8');

const artifactOf = (name: string, registry: string, version: string, descriptor: Descriptor): Delivered['image'] => ({
  name,
  repository: `${registry}/${name}`,
  tag: `${version}@${descriptor.digest}`,
  descriptor,
});

/** The examples with the registry, image and chart pinned; the chart's own values name the image already. */
const manifests = ({ name, version, image, chart }: Delivered): [string, string][] =>
  readdirSync(join(root, 'example/gardener')).flatMap((file): [string, string][] => {
    const text = read(`example/gardener/${file}`);
    if (!text.includes(PLACEHOLDER)) return [];
    const pinned = text
      .replaceAll(`${PLACEHOLDER}/charts/${name}:${version}`, `${chart.repository}:${chart.tag}`)
      .replaceAll(`${PLACEHOLDER}/${name}`, image.repository);
    return [[file, pinned]];
  });

/** Makes everything of a release that Gardener is given. */
export const deliver = async (options: DeliveryOptions): Promise<Delivered> => {
  const { target, registry, base, bundle, conntrack } = options;
  rmSync(target, { recursive: true, force: true });
  const { name, version } = JSON.parse(read('package.json')) as { name: string; version: string };
  const source = { base, bundle, dockerfile: read('hack/image/Dockerfile'), version };
  const laid = await layImage(join(target, 'image'), source);
  const image = artifactOf(name, registry, version, laid.descriptor);
  const meter =
    conntrack === undefined
      ? undefined
      : artifactOf(
          `${name}-traffic-meter`,
          registry,
          version,
          (
            await layImage(join(target, 'traffic-meter'), {
              ...source,
              dockerfile: read('hack/image/Dockerfile.traffic-meter'),
              conntrack,
            })
          ).descriptor,
        );
  const chart = artifactOf(
    name,
    `${registry}/charts`,
    version,
    await layChart(join(target, 'chart'), join(root, 'charts', name), { image, meter }),
  );
  const home = `github.com/gardener/${name}`;
  const delivered = { name, version, home, image, meter, chart, architectures: laid.architectures };
  writeFileSync(join(target, 'component-descriptor.yaml'), await layComponent(join(target, 'component'), delivered));
  writeFileSync(join(target, 'images.yaml'), imageVectorOf(delivered));
  mkdirSync(join(target, 'manifests'));
  for (const [file, text] of manifests(delivered)) writeFileSync(join(target, 'manifests', file), text);
  return delivered;
};

if (import.meta.main) {
  const { values } = parseArgs({
    options: { registry: { type: 'string' }, base: { type: 'string' }, conntrack: { type: 'string' } },
  });
  const { registry, base, conntrack } = values;
  if (registry === undefined || base === undefined) {
    process.stderr.write(USAGE);
    process.exit(2);
  }
  const target = join(root, 'dist/delivery');
  const { image, meter, chart } = await deliver({
    target,
    registry,
    base,
    conntrack,
    bundle: join(root, 'dist/bundle'),
  });
  console.log(`dist/delivery/image: ${image.repository}:${image.tag}`);
  if (meter !== undefined) console.log(`dist/delivery/traffic-meter: ${meter.repository}:${meter.tag}`);
  console.log(`dist/delivery/chart: ${chart.repository}:${chart.tag}`);
  console.log('dist/delivery: component, component-descriptor.yaml, images.yaml, manifests');
}
