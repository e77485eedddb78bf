// The image without an engine: a layer with the bundle upon each platform of a base, configured as the Dockerfile says.
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import { type Instruction, lastStage, only, readDockerfile } from '../lib/dockerfile.ts';
import { MEDIA, createLayout, digestOf, manifestsIn, readBlob, readIndex, readJson } from '../lib/oci.ts';
import type { Descriptor, Layout, Manifest, Platform } from '../lib/oci.ts';
import { type PackedFile, tarOf, zipped } from '../lib/tar.ts';

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
  /** Text of hack/image/Dockerfile, or of the meter's. */
  readonly dockerfile: string;
  /** With a folder for each architecture: Debian's packages of conntrack and its libraries, unpacked. Default: none. */
  readonly conntrack?: string;
  readonly version: string;
}

interface Layer {
  readonly blob: Descriptor;
  /** Digest of what is packed. */
  readonly diffId: string;
  /** Of the Dockerfile. */
  readonly instruction: string;
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

const layFiles = async (layout: Layout, files: readonly PackedFile[], instruction: string): Promise<Layer> => {
  const content = await tarOf(files);
  return { blob: layout.put(MEDIA.layer, zipped(content)), diffId: digestOf(content), instruction };
};

/** The one that copies from here, not from another stage. */
const copyOf = (instructions: readonly Instruction[]): string =>
  only(
    instructions.filter(({ value }) => !value.startsWith('--from=')),
    'COPY',
  );

const layBundle = async (
  layout: Layout,
  { bundle }: ImageSource,
  instructions: readonly Instruction[],
): Promise<Layer> => {
  const [, target = ''] = copyOf(instructions).split(' ');
  return layFiles(layout, copied(bundle, target), `COPY ${copyOf(instructions)}`);
};

const PROGRAM = /^usr\/sbin\/conntrack$/;
const LIBRARY = /^(?:usr\/)?(lib\/[^/]+\/(lib(?:mnl|nfnetlink|netfilter_conntrack))\.so\.\d+)$/;
const COPYRIGHT = /^usr\/share\/doc\/[^/]+\/copyright$/;
const NEEDED = ['libmnl', 'libnetfilter_conntrack', 'libnfnetlink'];

/**
 * What hack/image/Dockerfile.traffic-meter takes of Debian, as root's: the program, its libraries where the base has libraries, and
 * what their licences ask to go with them.
 *
 * @throws Error where a file is missing.
 */
const programOf = (folder: string): PackedFile[] => {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  const read = (name: string, target: string, mode: number): PackedFile => ({
    name: target,
    // Through links, of which libraries have some.
    content: readFileSync(join(folder, name)),
    mode,
  });
  const libraries = files.flatMap((name) => {
    const [, target, library] = LIBRARY.exec(name) ?? [];
    return target === undefined ? [] : [{ library, file: read(name, `usr/${target}`, PLAIN) }];
  });
  const missing = [
    ...(files.some((name) => PROGRAM.test(name)) ? [] : ['usr/sbin/conntrack']),
    ...NEEDED.filter((name) => !libraries.some(({ library }) => library === name)),
    ...(files.some((name) => COPYRIGHT.test(name)) ? [] : ['usr/share/doc/*/copyright']),
  ];
  if (missing.length > 0) throw new Error(`${folder} lacks ${missing.join(', ')}`);
  return [
    ...files.filter((name) => PROGRAM.test(name)).map((name) => read(name, name, EXECUTABLE)),
    ...libraries.map(({ file }) => file),
    ...files.filter((name) => COPYRIGHT.test(name)).map((name) => read(name, name, PLAIN)),
  ];
};

const ASSIGNMENTS = /([\w.]+)=(?:"([^"]*)"|(\S*))/g;
const assignmentsOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(ASSIGNMENTS)].map(([, key = '', quoted, plain]) => [key, quoted ?? plain ?? '']),
  );

/** Those of the base first; a name that is assigned again has its last value. */
const environmentOf = (base: readonly string[], instructions: readonly Instruction[]): string[] => {
  const own = instructions.filter(({ name }) => name === 'ENV').map(({ value }) => assignmentsOf(value));
  const all = Object.assign({}, ...base.map((line) => assignmentsOf(line)), ...own) as Record<string, string>;
  return Object.entries(all).map(([name, value]) => `${name}=${value}`);
};

/** The base's configuration with what the Dockerfile says, and the layers. */
const configured = (base: Config, instructions: readonly Instruction[], layers: readonly Layer[]): Config => ({
  ...base,
  config: {
    ...base.config,
    Env: environmentOf(base.config?.Env ?? [], instructions),
    Labels: { ...base.config?.Labels, ...assignmentsOf(only(instructions, 'LABEL')) },
    WorkingDir: only(instructions, 'WORKDIR'),
    User: only(instructions, 'USER'),
    Entrypoint: JSON.parse(only(instructions, 'ENTRYPOINT')) as string[],
    Cmd: JSON.parse(only(instructions, 'CMD')) as string[],
  },
  rootfs: { type: 'layers', diff_ids: [...base.rootfs.diff_ids, ...layers.map(({ diffId }) => diffId)] },
  history: [...(base.history ?? []), ...layers.map(({ instruction }) => ({ created_by: instruction }))],
});

const layPlatform = async (
  layout: Layout,
  { base, conntrack }: ImageSource,
  from: Descriptor,
  instructions: readonly Instruction[],
  bundle: Layer,
): Promise<Descriptor> => {
  const manifest = readJson<Manifest>(base, from);
  for (const blob of manifest.layers) layout.put(blob.mediaType, readBlob(base, blob));
  const below = readJson<Config>(base, manifest.config);
  const programs =
    conntrack === undefined
      ? []
      : [await layFiles(layout, programOf(join(conntrack, below.architecture)), 'COPY --from=conntrack /out/ /')];
  const layers = [...programs, bundle];
  const config = configured(below, instructions, layers);
  const { os, architecture, variant } = config;
  const described = layout.putJson(MEDIA.manifest, {
    schemaVersion: 2,
    mediaType: MEDIA.manifest,
    config: layout.putJson(MEDIA.config, config),
    layers: [...manifest.layers, ...layers.map(({ blob }) => blob)],
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
 * @throws Error where the base has no platform that it could run on, a blob is not what its digest promises, or a file of conntrack is
 * missing.
 */
export const layImage = async (folder: string, source: ImageSource): Promise<LaidImage> => {
  const instructions = lastStage(readDockerfile(source.dockerfile, { VERSION: source.version }));
  const layout = createLayout(folder);
  const layer = await layBundle(layout, source, instructions);
  const manifests: Descriptor[] = [];
  for (const from of platformsOf(source)) manifests.push(await layPlatform(layout, source, from, instructions, layer));
  const descriptor = layout.putJson(MEDIA.index, { schemaVersion: 2, mediaType: MEDIA.index, manifests });
  layout.tag(descriptor, source.version);
  return { descriptor, architectures: manifests.flatMap(({ platform }) => platform?.architecture ?? []) };
};
