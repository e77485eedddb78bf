// SPDX-License-Identifier: Apache-2.0
// The image without an engine: a layer with the bundle upon each platform of a base, configured as the Dockerfile says.
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import { only, readDockerfile } from '../lib/dockerfile.ts';
import type { Instruction } from '../lib/dockerfile.ts';
import { MEDIA, createLayout, digestOf, manifestsIn, readBlob, readIndex, readJson } from '../lib/oci.ts';
import type { Descriptor, Layout, Manifest, Platform } from '../lib/oci.ts';
import { tarOf, zipped } from '../lib/tar.ts';
import type { PackedFile } from '../lib/tar.ts';

/** Those that Gardener's image vectors know. */
const ARCHITECTURES: ReadonlySet<string> = new Set(['amd64', 'arm64']);
const EXECUTABLE = 0o755;
const PLAIN = 0o644;

interface History {
  readonly created_by: string;
  readonly empty_layer?: boolean;
}
interface Config extends Platform {
  readonly config?: {
    readonly Env?: readonly string[];
    readonly Labels?: Readonly<Record<string, string>>;
    readonly WorkingDir?: string;
    readonly User?: string;
    readonly Entrypoint?: readonly string[];
    readonly Cmd?: readonly string[];
  };
  readonly rootfs: { readonly type: 'layers'; readonly diff_ids: readonly string[] };
  readonly history?: readonly History[];
}

export interface ImageSource {
  /** OCI image layout of the base, for one platform or several. */
  readonly base: string;
  /** The folder that `npm run bundle` fills. */
  readonly bundle: string;
  /** Text of hack/image/Dockerfile. */
  readonly dockerfile: string;
  readonly version: string;
}

interface Layer {
  readonly blob: Descriptor;
  /** Digest of what is packed. */
  readonly diffId: string;
}

/** Every file below a folder, by its path in it. */
export const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();

/** What COPY does, as root's: executable or not is all that is taken on of the files' modes. */
const copied = (folder: string, target: string): PackedFile[] =>
  filesBelow(folder).map((name) => ({
    name: posix.join(target, name).replace(/^\//, ''),
    content: readFileSync(join(folder, name)),
    mode: (statSync(join(folder, name)).mode & 0o100) === 0 ? PLAIN : EXECUTABLE,
  }));

const layBundle = async (
  layout: Layout,
  { bundle }: ImageSource,
  instructions: readonly Instruction[],
): Promise<Layer> => {
  const [, target = ''] = only(instructions, 'COPY').split(' ');
  const content = await tarOf(copied(bundle, target));
  return { blob: layout.put(MEDIA.layer, zipped(content)), diffId: digestOf(content) };
};

const ASSIGNMENTS = /([\w.]+)=(?:"([^"]*)"|(\S*))/g;
const labelsOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(ASSIGNMENTS)].map(([, key = '', quoted, plain]) => [key, quoted ?? plain ?? '']),
  );

/** The base's configuration with what the Dockerfile says, and the layer. */
const configured = (base: Config, instructions: readonly Instruction[], { diffId }: Layer): Config => ({
  ...base,
  config: {
    ...base.config,
    Env: [...(base.config?.Env ?? []), ...instructions.filter(({ name }) => name === 'ENV').map(({ value }) => value)],
    Labels: { ...base.config?.Labels, ...labelsOf(only(instructions, 'LABEL')) },
    WorkingDir: only(instructions, 'WORKDIR'),
    User: only(instructions, 'USER'),
    Entrypoint: JSON.parse(only(instructions, 'ENTRYPOINT')) as string[],
    Cmd: JSON.parse(only(instructions, 'CMD')) as string[],
  },
  rootfs: { type: 'layers', diff_ids: [...base.rootfs.diff_ids, diffId] },
  history: [...(base.history ?? []), { created_by: `COPY ${only(instructions, 'COPY')}` }],
});

const layPlatform = (
  layout: Layout,
  { base }: ImageSource,
  from: Descriptor,
  instructions: readonly Instruction[],
  layer: Layer,
): Descriptor => {
  const manifest = readJson<Manifest>(base, from);
  for (const blob of manifest.layers) layout.put(blob.mediaType, readBlob(base, blob));
  const config = configured(readJson<Config>(base, manifest.config), instructions, layer);
  const { os, architecture, variant } = config;
  const described = layout.putJson(MEDIA.manifest, {
    schemaVersion: 2,
    mediaType: MEDIA.manifest,
    config: layout.putJson(MEDIA.config, config),
    layers: [...manifest.layers, layer.blob],
    annotations: {
      'org.opencontainers.image.base.name': only(instructions, 'FROM'),
      'org.opencontainers.image.base.digest': from.digest,
    },
  } satisfies Manifest);
  return { ...described, platform: { os, architecture, ...(variant !== undefined && { variant }) } };
};

/** Manifests of a base that Pods may run on; attestations beside them name no platform. */
const platformsOf = ({ base }: ImageSource): Descriptor[] => {
  const known = manifestsIn(base).filter(({ mediaType }) => mediaType === MEDIA.manifest);
  const found = known.filter((manifest) => {
    const { architecture } = manifest.platform ?? readJson<Config>(base, readJson<Manifest>(base, manifest).config);
    return ARCHITECTURES.has(architecture);
  });
  if (found.length > 0) return found;
  const types = readIndex(base).manifests.map(({ mediaType }) => mediaType);
  throw new Error(`${base} has no OCI manifest for ${[...ARCHITECTURES].join(' or ')}, but ${types.join(', ')}`);
};

export interface LaidImage {
  readonly descriptor: Descriptor;
  readonly architectures: readonly string[];
}

/**
 * Fills a folder with the image, one index over all platforms of the base, tagged with the version.
 *
 * @throws Error where the base has no platform that it could run on, or a blob is not what its digest promises.
 */
export const layImage = async (folder: string, source: ImageSource): Promise<LaidImage> => {
  const instructions = readDockerfile(source.dockerfile, { VERSION: source.version });
  const layout = createLayout(folder);
  const layer = await layBundle(layout, source, instructions);
  const manifests = platformsOf(source).map((from) => layPlatform(layout, source, from, instructions, layer));
  const descriptor = layout.putJson(MEDIA.index, { schemaVersion: 2, mediaType: MEDIA.index, manifests });
  layout.tag(descriptor, source.version);
  return { descriptor, architectures: manifests.flatMap(({ platform }) => platform?.architecture ?? []) };
};
