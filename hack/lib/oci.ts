// Folders in the OCI image layout: blobs named by their digest, an index, and nothing that would need a registry.
// https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const MEDIA = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
} as const;

/** Annotation of an entry of `index.json`: the tag. */
export const REF_NAME = 'org.opencontainers.image.ref.name';

export interface Platform {
  readonly os: string;
  readonly architecture: string;
  readonly variant?: string;
}

export interface Descriptor {
  readonly mediaType: string;
  /** `sha256:…`. */
  readonly digest: string;
  /** Bytes. */
  readonly size: number;
  readonly platform?: Platform;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface Manifest {
  readonly schemaVersion: 2;
  readonly mediaType: string;
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface Index {
  readonly schemaVersion: 2;
  readonly mediaType: string;
  readonly manifests: readonly Descriptor[];
}

export interface Layout {
  /** Stores a blob under its digest. */
  put(mediaType: string, content: Buffer): Descriptor;
  putJson(mediaType: string, value: object): Descriptor;
  /** Writes the index: what this layout offers, by tag. */
  tag(descriptor: Descriptor, name: string): void;
}

export const digestOf = (content: Buffer): string => `sha256:${createHash('sha256').update(content).digest('hex')}`;

const pathOf = (folder: string, digest: string): string => join(folder, 'blobs', ...digest.split(':'));

/** Empties the folder first. */
export const createLayout = (folder: string): Layout => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'blobs/sha256'), { recursive: true });
  writeFileSync(join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  const put = (mediaType: string, content: Buffer): Descriptor => {
    const digest = digestOf(content);
    writeFileSync(pathOf(folder, digest), content);
    return { mediaType, digest, size: content.length };
  };
  return {
    put,
    putJson: (mediaType, value) => put(mediaType, Buffer.from(JSON.stringify(value))),
    tag(descriptor, name) {
      const manifests = [{ ...descriptor, annotations: { [REF_NAME]: name } }];
      const index: Index = { schemaVersion: 2, mediaType: MEDIA.index, manifests };
      writeFileSync(join(folder, 'index.json'), JSON.stringify(index));
    },
  };
};

/**
 * The content of a blob.
 *
 * @throws Error where the file is not what the digest and the size promise.
 */
export const readBlob = (folder: string, { digest, size }: Descriptor): Buffer => {
  const content = readFileSync(pathOf(folder, digest));
  if (content.length !== size || digestOf(content) !== digest)
    throw new Error(`${folder}: the blob ${digest} is not what its digest and size of ${size} bytes promise`);
  return content;
};

export const readJson = <T>(folder: string, descriptor: Descriptor): T =>
  JSON.parse(readBlob(folder, descriptor).toString('utf8')) as T;

export const readIndex = (folder: string): Index =>
  JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8')) as Index;

/** The manifests of a layout, those behind an index included. */
export const manifestsIn = (folder: string, entries = readIndex(folder).manifests): Descriptor[] =>
  entries.flatMap((entry) =>
    entry.mediaType === MEDIA.index ? manifestsIn(folder, readJson<Index>(folder, entry).manifests) : [entry],
  );
