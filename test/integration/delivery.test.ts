// What hack/delivery.ts makes for Gardener, read back as registries and landscapes read it: every blob by its digest.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { extract } from 'tar-stream';
import { parse } from 'yaml';
import { deliver } from '../../hack/delivery.ts';
import type { Delivered } from '../../hack/delivery/component.ts';
import { MEDIA, REF_NAME, digestOf, manifestsIn, readBlob, readIndex, readJson } from '../../hack/lib/oci.ts';
import type { Descriptor, Index, Manifest } from '../../hack/lib/oci.ts';
import { tarOf } from '../../hack/lib/tar.ts';
import { PLATFORMS, layConntrack } from '../fixtures/conntrack-packages.ts';
import { layBase } from '../fixtures/oci-base.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const root = resolve(import.meta.dirname, '../..');
const REGISTRY = 'registry.example.org/tar';
const NAME = 'gardener-extension-topology-aware-routing';
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };

interface Config {
  readonly architecture: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly rootfs: { readonly diff_ids: readonly string[] };
}
interface Resource {
  readonly name: string;
  readonly type: string;
  readonly access: { readonly imageReference?: string; readonly localReference?: string };
  readonly digest?: { readonly value: string };
}

const entriesOf = async (archive: Buffer): Promise<Record<string, string>> => {
  const entries: Record<string, string> = {};
  const reader = extract();
  reader.end(archive);
  for await (const entry of reader)
    entries[`${entry.header.name} ${entry.header.mode?.toString(8)}`] = await text(entry);
  return entries;
};

/** Every blob that can be reached from the index; reading one checks it. */
const reachable = (layout: string, descriptors: readonly Descriptor[]): string[] =>
  descriptors.flatMap((descriptor) => {
    const content = readBlob(layout, descriptor);
    if (descriptor.mediaType !== MEDIA.index && descriptor.mediaType !== MEDIA.manifest) return [descriptor.digest];
    const { manifests = [], config, layers = [] } = JSON.parse(content.toString()) as Partial<Index & Manifest>;
    const below = [...manifests, ...(config === undefined ? [] : [config]), ...layers];
    return [descriptor.digest, ...reachable(layout, below)];
  });

const firstManifest = (layout: string): Manifest => readJson<Manifest>(layout, manifestsIn(layout)[0]!);

describe('delivery', () => {
  const folder = temporaryFolder();
  let delivered: Delivered;
  let withMeter: Delivered;
  const at = (path: string): string => folder.at(`delivery/${path}`);
  const options = (target: string) => ({
    target: folder.at(target),
    registry: REGISTRY,
    base: folder.at('base'),
    bundle: folder.at('bundle'),
  });

  before(async () => {
    folder.write('bundle/launch.js', 'console.log("launched");\n');
    folder.write('bundle/chunks/chunk-AAAAAAAA.js', 'export const a = 1;\n');
    const layer = await tarOf([{ name: 'nodejs/bin/node', content: Buffer.from('node'), mode: 0o755 }]);
    layBase(folder.at('base'), ['amd64', 's390x', 'arm64'], layer);
    delivered = await deliver(options('delivery'));
    for (const [architecture, triplet] of PLATFORMS) layConntrack(folder, `conntrack/${architecture}`, triplet);
    withMeter = await deliver({ ...options('with-meter'), conntrack: folder.at('conntrack') });
  });

  for (const layout of ['delivery/image', 'delivery/chart', 'delivery/component', 'with-meter/traffic-meter']) {
    it(`${layout}: its index is tagged with the version, every blob is what its digest promises, and none is left over`, () => {
      const { manifests } = readIndex(folder.at(layout));
      expect(manifests.map(({ annotations }) => annotations?.[REF_NAME])).to.deep.equal([version]);
      const stored = readdirSync(folder.at(`${layout}/blobs/sha256`)).map((name) => `sha256:${name}`);
      expect([...new Set(reachable(folder.at(layout), manifests))].sort()).to.deep.equal(stored.sort());
    });
  }

  it('makes the same of the same files, to the byte', async () => {
    const again = await deliver(options('again'));
    expect(again).to.deep.equal(delivered);
  });

  it('refuses a base with a blob that is not what its digest promises', async () => {
    layBase(folder.at('spoilt'), ['amd64'], Buffer.from('layer'));
    writeFileSync(join(folder.at('spoilt'), 'blobs', digestOf(Buffer.from('layer')).replace(':', '/')), 'other');
    const refused = await deliver({ ...options('refused'), base: folder.at('spoilt') }).catch(String);
    expect(refused).to.contain('is not what its digest and size of 5 bytes promise');
  });

  it('refuses a base for none of the architectures that Gardener knows, and names what it has', async () => {
    layBase(folder.at('foreign'), ['s390x'], Buffer.from('layer'));
    const refused = await deliver({ ...options('refused'), base: folder.at('foreign') }).catch(String);
    expect(refused).to.contain(`has no OCI manifest for amd64 or arm64, but ${MEDIA.index}`);
  });

  describe('image', () => {
    it('has the platforms of its base that Gardener knows, each upon its base', () => {
      const [index] = readIndex(at('image')).manifests;
      const { manifests } = readJson<Index>(at('image'), index!);
      expect(manifests.map(({ platform }) => platform)).to.deep.equal([
        { os: 'linux', architecture: 'amd64' },
        { os: 'linux', architecture: 'arm64' },
      ]);
      const bases = manifestsIn(folder.at('base')).map(({ digest }) => digest);
      for (const manifest of manifests) {
        const { annotations } = readJson<Manifest>(at('image'), manifest);
        expect(bases).to.include(annotations?.['org.opencontainers.image.base.digest']);
      }
    });

    it("is configured as the Dockerfile says, and keeps the base's environment and labels", () => {
      const manifest = firstManifest(at('image'));
      const { architecture, config } = readJson<Config>(at('image'), manifest.config);
      expect(architecture).to.equal('amd64');
      expect(config).to.deep.equal({
        Env: ['PATH=/nodejs/bin', 'NODE_ENV=production'],
        Labels: {
          base: 'yes',
          'org.opencontainers.image.title': NAME,
          'org.opencontainers.image.description': 'Keeps Kubernetes Service traffic inside its zone.',
          'org.opencontainers.image.licenses': 'Apache-2.0',
          'org.opencontainers.image.version': version,
        },
        WorkingDir: '/app',
        User: '65532:65532',
        Entrypoint: ['/nodejs/bin/node', '/app/launch.js'],
        Cmd: ['--help'],
      });
    });

    it('has the bundle as its last layer, and names the digest of what each layer packs', async () => {
      const manifest = firstManifest(at('image'));
      const { rootfs } = readJson<Config>(at('image'), manifest.config);
      const [base, bundle] = manifest.layers;
      const unpacked = gunzipSync(readBlob(at('image'), bundle!));
      expect(rootfs.diff_ids).to.deep.equal([base!.digest, digestOf(unpacked)]);
      expect(await entriesOf(unpacked)).to.deep.equal({
        'app/chunks/chunk-AAAAAAAA.js 644': 'export const a = 1;\n',
        'app/launch.js 644': 'console.log("launched");\n',
      });
    });
  });

  describe("the meter's image, where conntrack is given for it", () => {
    const layout = (): string => folder.at('with-meter/traffic-meter');

    it('has for each platform its own conntrack, the libraries and their licences, below the bundle', async () => {
      const manifests = manifestsIn(layout());
      expect(manifests).to.have.lengthOf(2);
      for (const [index, [architecture, triplet]] of PLATFORMS.entries()) {
        const manifest = readJson<Manifest>(layout(), manifests[index]!);
        const config = readJson<Config>(layout(), manifest.config);
        const [, programs, bundle] = manifest.layers.map((layer) => readBlob(layout(), layer));
        expect(config.architecture).to.equal(architecture);
        expect(config.rootfs.diff_ids.slice(1)).to.deep.equal(
          [programs, bundle].map((layer) => digestOf(gunzipSync(layer!))),
        );
        expect(await entriesOf(gunzipSync(programs!))).to.deep.equal({
          'usr/sbin/conntrack 755': `program for ${triplet}`,
          [`usr/lib/${triplet}/libmnl.so.0 644`]: 'libmnl.so.0',
          [`usr/lib/${triplet}/libnfnetlink.so.0 644`]: 'libnfnetlink.so.0',
          [`usr/lib/${triplet}/libnetfilter_conntrack.so.3 644`]: 'libnetfilter_conntrack.so.3',
          'usr/share/doc/conntrack/copyright 644': 'GPL-2.0',
          'usr/share/doc/libmnl0/copyright 644': 'GPL-2.0',
        });
        expect(Object.keys(await entriesOf(gunzipSync(bundle!)))).to.include('app/launch.js 644');
      }
    });

    it('is configured as its Dockerfile says: root, with conntrack on its path', () => {
      const { config } = readJson<Config>(layout(), firstManifest(layout()).config);
      expect(config).to.deep.include({
        Env: ['PATH=/usr/sbin:/usr/bin', 'NODE_ENV=production'],
        User: '0:0',
        Entrypoint: ['/nodejs/bin/node', '/app/launch.js'],
        Cmd: ['traffic-meter', '--help'],
      });
      expect(config['Labels']).to.include({ 'org.opencontainers.image.licenses': 'Apache-2.0 AND GPL-2.0-or-later' });
    });

    it('is named by digest in the values of the chart, the component with the map of values, and the image vector', async () => {
      const { digest } = readIndex(layout()).manifests[0]!;
      const tag = `${version}@${digest}`;
      const repository = `${REGISTRY}/${NAME}-traffic-meter`;
      expect(withMeter.meter).to.include({ repository, tag });
      const chart = firstManifest(folder.at('with-meter/chart')).layers[0]!;
      const entries = await entriesOf(gunzipSync(readBlob(folder.at('with-meter/chart'), chart)));
      const values = parse(entries[`${NAME}/values.yaml 644`] ?? '') as { trafficMeter: { image: object } };
      expect(values.trafficMeter.image).to.include({ repository, tag });
      const { component } = parse(readFileSync(folder.at('with-meter/component-descriptor.yaml'), 'utf8')) as {
        component: { resources: Resource[] };
      };
      expect(component.resources.map(({ name, type }) => `${type} ${name}`)).to.deep.equal([
        `ociImage ${NAME}`,
        `ociImage ${NAME}-traffic-meter`,
        `helmChart/v1 ${NAME}`,
        `helmchart-imagemap ${NAME}`,
      ]);
      const map = component.resources.at(-1)?.access.localReference;
      const { layers } = firstManifest(folder.at('with-meter/component'));
      const stored = layers.find((layer) => layer.digest === map)!;
      expect(
        readJson<{ imageMapping: unknown[] }>(folder.at('with-meter/component'), stored).imageMapping,
      ).to.deep.include({
        resource: { name: `${NAME}-traffic-meter` },
        repository: 'trafficMeter.image.repository',
        tag: 'trafficMeter.image.tag',
      });
      const vector = parse(readFileSync(folder.at('with-meter/images.yaml'), 'utf8')) as { images: object[] };
      expect(vector.images).to.have.lengthOf(2);
      expect(vector.images[1]).to.deep.include({ name: `${NAME}-traffic-meter`, repository, tag });
    });

    it('is refused where a platform lacks a file, which is named', async () => {
      layConntrack(folder, 'broken/amd64', 'x86_64-linux-gnu');
      folder.write('broken/arm64/usr/sbin/conntrack', 'alone');
      const refused = await deliver({ ...options('refused'), conntrack: folder.at('broken') }).catch(String);
      expect(refused).to.match(
        /broken\/arm64 lacks libmnl, libnetfilter_conntrack, libnfnetlink, usr\/share\/doc\/\*\/copyright$/,
      );
    });
  });

  describe('chart', () => {
    it('is of the media types that helm and Gardener look for, and described by its Chart.yaml', () => {
      const { config, layers } = firstManifest(at('chart'));
      expect(config.mediaType).to.equal('application/vnd.cncf.helm.config.v1+json');
      expect(layers.map(({ mediaType }) => mediaType)).to.deep.equal([
        'application/vnd.cncf.helm.chart.content.v1.tar+gzip',
      ]);
      const described = parse(readFileSync(join(root, 'charts', NAME, 'Chart.yaml'), 'utf8')) as object;
      expect(readJson(at('chart'), config)).to.deep.equal(described);
    });

    it('holds every file of the chart, and differs from it in the image that its values name', async () => {
      const entries = await entriesOf(gunzipSync(readBlob(at('chart'), firstManifest(at('chart')).layers[0]!)));
      const source = (file: string): string => readFileSync(join(root, 'charts', NAME, file), 'utf8');
      for (const [entry, content] of Object.entries(entries)) {
        const file = entry.replace(`${NAME}/`, '').replace(' 644', '');
        if (file !== 'values.yaml') expect(content, file).to.equal(source(file));
      }
      expect(Object.keys(entries)).to.include.members([
        `${NAME}/values.schema.json 644`,
        `${NAME}/templates/guards.yaml 644`,
      ]);
      const { image, ...others } = parse(entries[`${NAME}/values.yaml 644`] ?? '') as { image: object };
      const { image: original, ...unchanged } = parse(source('values.yaml')) as { image: object };
      const tag = `${version}@${readIndex(at('image')).manifests[0]!.digest}`;
      expect(image).to.deep.equal({ ...original, repository: `${REGISTRY}/${NAME}`, tag });
      expect(others).to.deep.equal(unchanged);
    });
  });

  describe('component', () => {
    it('refers to image and chart by the digests of their layouts, and brings the map of the image values along', () => {
      const { component } = parse(readFileSync(at('component-descriptor.yaml'), 'utf8')) as {
        component: { name: string; version: string; resources: Resource[] };
      };
      expect(component).to.include({ name: `github.com/gardener/${NAME}`, version });
      const [image, chart, map] = component.resources;
      for (const [resource, layout, path] of [
        [image, 'image', NAME],
        [chart, 'chart', `charts/${NAME}`],
      ] as const) {
        const { digest } = readIndex(at(layout)).manifests[0]!;
        expect(resource?.access.imageReference).to.equal(`${REGISTRY}/${path}:${version}@${digest}`);
        expect(resource?.digest?.value).to.equal(digest.replace('sha256:', ''));
      }
      const stored = firstManifest(at('component')).layers.find(({ digest }) => digest === map?.access.localReference);
      expect(readJson(at('component'), stored!)).to.deep.equal({
        helmchartResource: { name: NAME },
        imageMapping: [{ resource: { name: NAME }, repository: 'image.repository', tag: 'image.tag' }],
      });
    });

    it('stores the descriptor as the first layer, which its config names', async () => {
      const { config, layers } = firstManifest(at('component'));
      const [layer] = layers;
      expect(readJson<object>(at('component'), config)).to.deep.equal({ componentDescriptorLayer: layer });
      const file = readFileSync(at('component-descriptor.yaml'), 'utf8');
      expect(await entriesOf(readBlob(at('component'), layer!))).to.deep.equal({
        'component-descriptor.yaml 644': file,
      });
    });

    it('has an image vector with the one image, its architectures and its digest', () => {
      const tag = `${version}@${readIndex(at('image')).manifests[0]!.digest}`;
      expect(parse(readFileSync(at('images.yaml'), 'utf8'))).to.deep.equal({
        images: [
          {
            name: NAME,
            sourceRepository: `github.com/gardener/${NAME}`,
            repository: `${REGISTRY}/${NAME}`,
            tag,
            architectures: ['amd64', 'arm64'],
          },
        ],
      });
    });
  });

  it('pins the chart in the manifests by digest, and leaves no registry of the examples in them', () => {
    const { digest } = readIndex(at('chart')).manifests[0]!;
    const files = readdirSync(at('manifests'));
    expect(files).to.include.members(['canary.yaml', 'controllerregistration.yaml', 'extension.yaml']);
    for (const file of files) {
      const manifest = readFileSync(at(`manifests/${file}`), 'utf8');
      expect(manifest, file).to.not.contain('registry.example.com');
      if (manifest.includes('ociRepository'))
        expect(manifest, file).to.contain(`ref: ${REGISTRY}/charts/${NAME}:${version}@${digest}`);
    }
  });
});
