// What landscapes are assembled from: the component descriptor of the Open Component Model, and an image vector.
import { stringify } from 'yaml';
import { type Descriptor, MEDIA, type Manifest, createLayout } from '../lib/oci.ts';
import { tarOf } from '../lib/tar.ts';
import { IMAGE_VALUES, METER_IMAGE_VALUES } from './chart.ts';

/** https://github.com/open-component-model/ocm-spec/blob/main/doc/04-extensions/03-storage-backends/oci.md */
const OCM = {
  config: 'application/vnd.ocm.software.component.config.v1+json',
  descriptor: 'application/vnd.ocm.software.component-descriptor.v2+yaml+tar',
} as const;

export interface Delivered {
  readonly name: string;
  readonly version: string;
  /** `github.com/…`, which is also the component's name. */
  readonly home: string;
  /** References with tag and digest. */
  readonly image: Artifact;
  /** The meter's, where conntrack was given for it. */
  readonly meter: Artifact | undefined;
  readonly chart: Artifact;
  readonly architectures: readonly string[];
}

interface Artifact {
  readonly name: string;
  readonly repository: string;
  /** Version and digest. */
  readonly tag: string;
  readonly descriptor: Descriptor;
}

const referenceOf = ({ repository, tag }: Artifact): string => `${repository}:${tag}`;

const artifact = (
  { version }: Delivered,
  type: 'ociImage' | 'helmChart/v1',
  what: Artifact,
): Record<string, unknown> => ({
  name: what.name,
  version,
  type,
  // The chart has the image's name.
  ...(type === 'helmChart/v1' && { extraIdentity: { type: 'helmChart' } }),
  relation: 'local',
  access: { type: 'ociRegistry', imageReference: referenceOf(what) },
  digest: {
    hashAlgorithm: 'SHA-256',
    normalisationAlgorithm: 'ociArtifactDigest/v1',
    value: what.descriptor.digest.replace('sha256:', ''),
  },
});

/** Where in the chart's values the image is, so that a copy of it elsewhere can be named there. */
const imageMap = ({ chart, image, meter }: Delivered): object => ({
  helmchartResource: { name: chart.name },
  imageMapping: [
    { resource: { name: image.name }, ...IMAGE_VALUES },
    ...(meter === undefined ? [] : [{ resource: { name: meter.name }, ...METER_IMAGE_VALUES }]),
  ],
});

const imagesOf = ({ image, meter }: Delivered): readonly Artifact[] => (meter === undefined ? [image] : [image, meter]);

const descriptorOf = (delivered: Delivered, map: Descriptor): object => ({
  meta: { schemaVersion: 'v2' },
  component: {
    name: delivered.home,
    version: delivered.version,
    provider: 'gardener.cloud',
    repositoryContexts: [],
    sources: [],
    componentReferences: [],
    resources: [
      ...imagesOf(delivered).map((image) => artifact(delivered, 'ociImage', image)),
      artifact(delivered, 'helmChart/v1', delivered.chart),
      {
        name: delivered.name,
        version: delivered.version,
        type: 'helmchart-imagemap',
        extraIdentity: { type: 'helmchart-imagemap' },
        relation: 'local',
        access: { type: 'localBlob', localReference: map.digest, mediaType: map.mediaType },
      },
    ],
  },
});

/** Fills a folder with the component, tagged with its version; returns the descriptor as YAML. */
export const layComponent = async (folder: string, delivered: Delivered): Promise<string> => {
  const layout = createLayout(folder);
  const map = layout.putJson('application/json', imageMap(delivered));
  const text = stringify(descriptorOf(delivered, map), { lineWidth: 0 });
  const file = { name: 'component-descriptor.yaml', content: Buffer.from(text), mode: 0o644 };
  const layer = layout.put(OCM.descriptor, await tarOf([file]));
  const manifest: Manifest = {
    schemaVersion: 2,
    mediaType: MEDIA.manifest,
    config: layout.putJson(OCM.config, { componentDescriptorLayer: layer }),
    layers: [layer, map],
  };
  layout.tag(layout.putJson(MEDIA.manifest, manifest), delivered.version);
  return text;
};

/** As in Gardener's docs/deployment/image_vector.md: the images that the chart deploys. */
export const imageVectorOf = (delivered: Delivered): string => {
  const { home: sourceRepository, architectures } = delivered;
  const images = imagesOf(delivered).map(({ name, repository, tag }) => ({
    name,
    sourceRepository,
    repository,
    tag,
    architectures,
  }));
  // Each with its own list: YAML would write the second as a reference to the first.
  return stringify({ images }, { lineWidth: 0, aliasDuplicateObjects: false });
};
