// The chart as an OCI artifact: what `helm push` would push, with the images that it was made for in its values.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseDocument } from 'yaml';
import { type Descriptor, MEDIA, type Manifest, createLayout } from '../lib/oci.ts';
import { archiveOf } from '../lib/tar.ts';
import { filesBelow } from './image.ts';

/** https://helm.sh/docs/topics/registries/; Gardener looks for the second (pkg/utils/oci/helmregistry.go). */
const HELM = {
  config: 'application/vnd.cncf.helm.config.v1+json',
  content: 'application/vnd.cncf.helm.chart.content.v1.tar+gzip',
} as const;

/** Values that name the image; an installation that mirrors it sets these two (`helmchart-imagemap`, `component.ts`). */
export const IMAGE_VALUES = { repository: 'image.repository', tag: 'image.tag' } as const;
/** The same of the meter's. */
export const METER_IMAGE_VALUES = {
  repository: 'trafficMeter.image.repository',
  tag: 'trafficMeter.image.tag',
} as const;

export interface ImageReference {
  readonly repository: string;
  /** Version and digest: `0.1.0@sha256:…`. */
  readonly tag: string;
}

interface Metadata {
  readonly name: string;
  readonly version: string;
  readonly description: string;
}

/** Images that the chart deploys; the meter's where it is part of the delivery. */
export interface ChartImages {
  readonly image: ImageReference;
  readonly meter?: ImageReference | undefined;
}

const withImages = (text: string, { image, meter }: ChartImages): string => {
  const values = parseDocument(text);
  const set = (names: typeof IMAGE_VALUES | typeof METER_IMAGE_VALUES, { repository, tag }: ImageReference): void => {
    values.setIn(names.repository.split('.'), repository);
    values.setIn(names.tag.split('.'), tag);
  };
  set(IMAGE_VALUES, image);
  if (meter !== undefined) set(METER_IMAGE_VALUES, meter);
  return values.toString({ lineWidth: 0, singleQuote: true });
};

const archive = (chart: string, { name }: Metadata, images: ChartImages): Promise<Buffer> =>
  archiveOf(
    filesBelow(chart)
      .filter((file) => !/(?:^|\/)\./.test(file))
      .map((file) => {
        const text = readFileSync(join(chart, file), 'utf8');
        const content = Buffer.from(file === 'values.yaml' ? withImages(text, images) : text);
        return { name: `${name}/${file}`, content, mode: 0o644 };
      }),
  );

/**
 * Fills a folder with the chart, tagged with its version.
 *
 * @param chart the folder of the chart.
 */
export const layChart = async (folder: string, chart: string, images: ChartImages): Promise<Descriptor> => {
  const metadata = parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8')) as Metadata;
  const layout = createLayout(folder);
  const descriptor = layout.putJson(MEDIA.manifest, {
    schemaVersion: 2,
    mediaType: MEDIA.manifest,
    config: layout.putJson(HELM.config, metadata),
    layers: [layout.put(HELM.content, await archive(chart, metadata, images))],
    annotations: {
      'org.opencontainers.image.title': metadata.name,
      'org.opencontainers.image.description': metadata.description,
      'org.opencontainers.image.version': metadata.version,
    },
  } satisfies Manifest);
  layout.tag(descriptor, metadata.version);
  return descriptor;
};
