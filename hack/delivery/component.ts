// SPDX-License-Identifier: Apache-2.0
// What landscapes are assembled from: the component descriptor of the Open Component Model, and an image vector.
import { stringify } from 'yaml';
import { MEDIA, createLayout } from '../lib/oci.ts';
import type { Descriptor, Manifest } from '../lib/oci.ts';
import { tarOf } from '../lib/tar.ts';
import { IMAGE_VALUES } from './chart.ts';

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
  readonly chart: Artifact;
  readonly architectures: readonly string[];
}

interface Artifact {
  readonly repository: string;
  /** Version and digest. */
  readonly tag: string;
  readonly descriptor: Descriptor;
}

const referenceOf = ({ repository, tag }: Artifact): string => `${repository}:${tag}`;

const artifact = (
  { name, version }: Delivered,
  type: 'ociImage' | 'helmChart/v1',
  what: Artifact,
): Record<string, unknown> => ({
  name,
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
const imageMap = ({ name }: Delivered): object => ({
  helmchartResource: { name },
  imageMapping: [{ resource: { name }, ...IMAGE_VALUES }],
});

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
      artifact(delivered, 'ociImage', delivered.image),
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

/** As in Gardener's docs/deployment/image_vector.md: the one image that the chart deploys. */
export const imageVectorOf = ({ name, home, image, architectures }: Delivered): string => {
  const { repository, tag } = image;
  return stringify({ images: [{ name, sourceRepository: home, repository, tag, architectures }] }, { lineWidth: 0 });
};
