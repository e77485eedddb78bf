// The image without an engine: what hack/delivery.ts makes, unpacked, and containers of Pods that run in it, as root of a mount
// namespace, read-only, with the Pod's user, arguments, environment, files and token, and nothing else of this machine.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeBundle } from '../../hack/bundle.ts';
import { layImage } from '../../hack/delivery/image.ts';
import { manifestsIn, readBlob, readJson } from '../../hack/lib/oci.ts';
import type { Manifest } from '../../hack/lib/oci.ts';
import { layBase } from '../fixtures/oci-base.ts';
import type { Component } from './bed/component.ts';
import type { Bed } from './bed/index.ts';
import { controlPlaneAddresses, run } from './bed/machine.ts';
import { root as sources } from './chart.ts';
import type { Rendered } from './chart.ts';

export interface Image {
  /** The folder that becomes the root of a container. */
  readonly folder: string;
  readonly user: { readonly uid: string; readonly gid: string };
  readonly entrypoint: readonly string[];
  readonly workingDirectory: string;
  /** `NAME=value`. */
  readonly environment: readonly string[];
}

/** What a program is linked with, the loader included. */
const librariesOf = (program: string): string[] => {
  const { stdout } = spawnSync('ldd', [program], { encoding: 'utf8' });
  return [...stdout.matchAll(/(?:=> |^\s*)(\/\S+) \(0x/gm)].map(([, path = '']) => path);
};

/** The base: Node.js, the libraries that it is linked with, the entry of the user, and folders for mounts. */
const layNode = (folder: string): void => {
  const copy = (from: string, to: string): void => {
    mkdirSync(dirname(join(folder, to)), { recursive: true });
    copyFileSync(from, join(folder, to));
  };
  copy(process.execPath, 'nodejs/bin/node');
  for (const library of librariesOf(process.execPath)) copy(library, library);
  for (const path of ['proc', 'dev', 'tmp', 'etc']) mkdirSync(join(folder, path), { recursive: true });
  writeFileSync(join(folder, 'etc/passwd'), 'nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n');
};

/** This machine's conntrack as Debian's packages have it. */
const layConntrack = (folder: string): void => {
  const program = '/usr/sbin/conntrack';
  const copyright = '/usr/share/doc/conntrack/copyright';
  for (const path of [program, copyright, ...librariesOf(program)]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    copyFileSync(path, join(folder, path));
  }
};

/** Of a manifest in OCI terms. */
interface Configuration {
  readonly config: {
    readonly Entrypoint: readonly string[];
    readonly Env: readonly string[];
    readonly User: string;
    readonly WorkingDir: string;
  };
}

/** Unpacks an image for one platform as an engine does: layer upon layer. */
const unpack = async (layout: string, folder: string): Promise<Configuration['config']> => {
  const [descriptor] = manifestsIn(layout);
  if (descriptor === undefined) throw new Error(`${layout}: no manifest`);
  const { config, layers } = readJson<Manifest>(layout, descriptor);
  mkdirSync(folder);
  for (const layer of layers) {
    readBlob(layout, layer);
    await run('tar', ['-xf', join(layout, 'blobs', layer.digest.replace(':', '/')), '-C', folder]);
  }
  return readJson<Configuration>(layout, config).config;
};

/**
 * Makes an image of hack/delivery.ts upon a base of this machine's Node.js, and unpacks it; `folder` must not exist.
 *
 * @param file - In hack/image; the meter's gets this machine's conntrack.
 */
export const assembleImage = async (
  folder: string,
  file: 'Dockerfile' | 'Dockerfile.traffic-meter' = 'Dockerfile',
): Promise<Image> => {
  const at = (name: string): string => `${folder}.${name}`;
  layNode(at('files'));
  await run('tar', ['-cf', at('tar'), '-C', at('files'), '.']);
  layBase(at('base'), ['amd64'], readFileSync(at('tar')));
  await makeBundle(at('bundle'));
  const source = { base: at('base'), bundle: at('bundle'), version: '0.0.0' };
  const dockerfile = readFileSync(join(sources, 'hack/image', file), 'utf8');
  layConntrack(join(at('conntrack'), 'amd64'));
  const programs = file === 'Dockerfile' ? {} : { conntrack: at('conntrack') };
  await layImage(at('layout'), { ...source, dockerfile, ...programs });
  const { Entrypoint, Env, User, WorkingDir } = await unpack(at('layout'), folder);
  const [uid = '', gid = ''] = User.split(':');
  return { folder, user: { uid, gid }, entrypoint: Entrypoint, workingDirectory: WorkingDir, environment: Env };
};

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

interface Mount {
  readonly from: string;
  /** In the container. */
  readonly to: string;
}

/** What becomes the container's process. Its root is read-only, and so is all that is mounted, but for what the kernel serves. */
const scriptOf = (
  image: Image,
  mounts: readonly Mount[],
  environment: readonly string[],
  args: readonly string[],
): string => {
  const { folder, user, workingDirectory, entrypoint } = image;
  const at = (path: string): string => quoted(join(folder, path));
  // By its path: the image's PATH is none of this machine's.
  const leave = `"$(command -v unshare)" --root=${quoted(folder)} --wd=${workingDirectory} --setgid=${user.gid} --setuid=${user.uid}`;
  return [
    'set -e',
    'mount --make-rprivate /',
    `mount --bind ${at('/')} ${at('/')}`,
    ...mounts.flatMap(({ from, to }) => [
      `mount --bind ${quoted(from)} ${at(to)}`,
      `mount -o remount,ro,bind ${at(to)}`,
    ]),
    ...['/proc', '/dev'].map((path) => `mount --rbind ${path} ${at(path)}`),
    `mount -o remount,ro,bind ${at('/')}`,
    `exec env -i ${environment.map(quoted).join(' ')} ${leave} ${[...entrypoint, ...args].map(quoted).join(' ')}`,
  ].join('\n');
};

export interface ContainerOptions {
  readonly bed: Bed;
  readonly image: Image;
  readonly name: string;
  readonly namespace: string;
  /** Appended to the arguments: Pods have an address each, these processes share one. Default: none. */
  readonly flags?: readonly string[];
}

type PodSpec = NonNullable<NonNullable<Rendered['spec']>['template']>['spec'];

/** The files of the Pod's volumes, as the kubelet lays them out. */
const layVolumes = async ({ bed, image, name, namespace }: ContainerOptions, pod: PodSpec): Promise<Mount[]> => {
  const token = async (): Promise<Record<string, string>> => {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${pod.serviceAccountName}/token`;
    const { status } = await bed.api.create<{ status: { token: string } }>(path, { spec: {} });
    const authority = readFileSync(bed.pki.authority.certificate, 'utf8');
    return { token: status.token, 'ca.crt': authority, namespace };
  };
  const configMap = async (map = ''): Promise<Record<string, string>> =>
    (await bed.api.get<Rendered>(`/api/v1/namespaces/${namespace}/configmaps/${map}`)).data ?? {};
  const mounts: Mount[] = [];
  for (const volume of pod.volumes) {
    const to = pod.containers[0]?.volumeMounts.find((mount) => mount.name === volume.name)?.mountPath ?? '';
    const from = join(bed.directory, 'volumes', name, volume.name);
    mkdirSync(from, { recursive: true });
    mkdirSync(join(image.folder, to), { recursive: true });
    const files = volume.projected === undefined ? await configMap(volume.configMap?.name) : await token();
    for (const [file, content] of Object.entries(files)) writeFileSync(join(from, file), content);
    mounts.push({ from, to });
  }
  return mounts;
};

/** The one container of a Deployment's Pod as a program of the bed. It finds the API server as every Pod does. */
export const containerOf = async (options: ContainerOptions): Promise<Component> => {
  const { bed, image, name, namespace, flags = [] } = options;
  const path = `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`;
  const pod = (await bed.api.get<Rendered>(path)).spec!.template!.spec;
  const [container] = pod.containers;
  const own: Readonly<Record<string, string>> = { POD_NAME: `${name}-0`, POD_NAMESPACE: namespace };
  const variables = (container?.env ?? []).map(
    (variable) => `${variable.name}=${variable.value ?? own[variable.name]}`,
  );
  const cluster = [`KUBERNETES_SERVICE_HOST=${controlPlaneAddresses.ipv4}`, 'KUBERNETES_SERVICE_PORT=6443'];
  const environment = [...image.environment, ...variables, ...cluster];
  const mounts = await layVolumes(options, pod);
  const script = scriptOf(image, mounts, environment, [...(container?.args ?? []), ...flags]);
  return bed.program({ name, command: ['unshare', '--mount', 'sh', '-c', script] });
};

/** Runs the image to its end with these arguments, as an engine does without any mount. */
export const runImage = (image: Image, args: readonly string[]): { code: number | null; output: string } => {
  const script = scriptOf(image, [], image.environment, args);
  const { status, stdout, stderr } = spawnSync('unshare', ['--mount', 'sh', '-c', script], { encoding: 'utf8' });
  return { code: status, output: `${stdout}${stderr}` };
};

/** What runs Node.js code instead of the entry point, as this user. */
export const runInImage = (
  image: Image,
  code: string,
  uid = image.user.uid,
): { code: number | null; output: string } => {
  const [node = ''] = image.entrypoint;
  const user = { ...image.user, uid };
  return runImage({ ...image, user, entrypoint: [node, '--eval', code] }, []);
};
