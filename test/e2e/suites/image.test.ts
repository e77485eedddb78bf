// The image as hack/image/Dockerfile describes it, run as the chart's Deployments say, on a real API server; and the meter's.
// Needs: conntrack
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { makeBundle } from '../../../hack/bundle.ts';
import { layImage } from '../../../hack/delivery/image.ts';
import { type Manifest, manifestsIn, readBlob, readJson } from '../../../hack/lib/oci.ts';
import { LABEL_STRATEGY } from '../../../pkg/apis/names.ts';
import { layBase } from '../../fixtures/oci-base.ts';
import { exposeAddress } from '../bed/access.ts';
import type { Component as Program } from '../bed/component.ts';
import { type Bed, useBed } from '../bed/index.ts';
import { controlPlaneAddresses, run, waitFor } from '../bed/machine.ts';
import type { Slice } from '../bed/pod.ts';
import { COMPONENTS, FLOW, NAMESPACE, RECONCILER, root as sources, useHelm, WEBHOOK } from '../chart.ts';
import type { Component, Rendered } from '../chart.ts';
import { apply, commandReady } from '../commands.ts';

interface Image {
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
const assembleImage = async (
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

interface ContainerOptions {
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
const containerOf = async (options: ContainerOptions): Promise<Program> => {
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
const runImage = (image: Image, args: readonly string[]): { code: number | null; output: string } => {
  const script = scriptOf(image, [], image.environment, args);
  const { status, stdout, stderr } = spawnSync('unshare', ['--mount', 'sh', '-c', script], { encoding: 'utf8' });
  return { code: status, output: `${stdout}${stderr}` };
};

/** What runs Node.js code instead of the entry point, as this user. */
const runInImage = (image: Image, code: string, uid = image.user.uid): { code: number | null; output: string } => {
  const [node = ''] = image.entrypoint;
  const user = { ...image.user, uid };
  return runImage({ ...image, user, entrypoint: [node, '--eval', code] }, []);
};

/** Of health; metrics are one below. */
const PORTS: Readonly<Record<Component, number>> = { [RECONCILER]: 18_081, [WEBHOOK]: 8081, [FLOW]: 28_081 };

describe('image', () => {
  const bed = useBed();
  const { helm } = useHelm();
  let image: Image;
  const running = new Map<Component, Program>();

  before('put the image together, and apply the chart', async () => {
    image = await assembleImage(join(bed().directory, 'image'));
    await bed().api.create('/api/v1/namespaces', { metadata: { name: NAMESPACE } });
    await apply(bed(), 'flowpolicies.yaml', readFileSync(join(sources, 'example/flow/crd.yaml'), 'utf8'));
    const values = { flowController: { enabled: true } };
    await apply(bed(), 'chart.yaml', await helm().template(values));
    await exposeAddress(bed().api, { namespace: NAMESPACE, name: WEBHOOK, targetPort: 10_250 });
  });
  after('end the containers', async () => {
    for (const program of running.values()) await program.stop();
  });

  it('holds Node.js, the libraries that it needs, and the bundle; no shell, and nothing to install with', () => {
    const files = readdirSync(image.folder, { recursive: true }).map(String);
    expect(files).to.include.members(['nodejs/bin/node', 'app/launch.js', 'app/LICENSES.txt', 'app/sbom.cdx.json']);
    expect(files.filter((file) => /node_modules|\/(?:sh|bash|npm|busybox)$/.test(file))).to.deep.equal([]);
  });

  it('says what it holds, and its version', () => {
    const { version } = JSON.parse(readFileSync(join(sources, 'package.json'), 'utf8')) as { version: string };
    expect(runImage(image, ['--version'])).to.deep.equal({ code: 0, output: `${version}\n` });
    for (const component of COMPONENTS) {
      const { code, output } = runImage(image, [component, '--help']);
      expect(output).to.contain(`Usage: ${component}`);
      expect(code, component).to.equal(0);
    }
  });

  it('cannot be changed, not even by root', () => {
    const write = 'require("fs").writeFileSync("/app/launch.js", "")';
    expect(runInImage(image, write, '0').output).to.contain('EROFS');
    expect(runInImage(image, write).output).to.match(/EROFS|EACCES/);
  });

  it("the meter's has conntrack, which finds its libraries and reads the kernel's table as root", async () => {
    const meter = await assembleImage(join(bed().directory, 'meter-image'), 'Dockerfile.traffic-meter');
    const read =
      'process.stdout.write(require("child_process").execFileSync("conntrack", ["-L", "-o", "id"]) + "read\\n")';
    expect(runInImage(meter, read))
      .to.deep.include({ code: 0 })
      .and.property('output')
      // After it conntrack's own summary, on standard error.
      .to.match(/^read$/m);
    expect(runImage(meter, ['traffic-meter', '--help']).output).to.contain('Usage: traffic-meter');
    const files = readdirSync(meter.folder, { recursive: true }).map(String);
    expect(files).to.include('usr/share/doc/conntrack/copyright');
    expect(files.filter((path) => /\/(?:sh|bash|dpkg|apt)$/.test(path))).to.deep.equal([]);
  });

  for (const component of [WEBHOOK, RECONCILER, FLOW] as const) {
    it(`runs ${component} with the arguments, files and token of its Pod until it is ready`, async () => {
      const health = PORTS[component];
      const flags = ['--health-port', `${health}`, '--metrics-port', `${health - 1}`];
      const program = await containerOf({ bed: bed(), image, name: component, namespace: NAMESPACE, flags });
      running.set(component, program);
      program.start();
      await commandReady(program, health);
      const status = readFileSync(`/proc/${program.pid}/status`, 'utf8');
      const { uid, gid } = image.user;
      expect(status)
        .to.match(new RegExp(`^Uid:(?:\\s+${uid}){4}$`, 'm'))
        .and.to.match(new RegExp(`^Gid:(?:\\s+${gid}){4}$`, 'm'));
      expect(status, 'capabilities').to.match(/^CapEff:\s+0+$/m);
      const mounts = readFileSync(`/proc/${program.pid}/mountinfo`, 'utf8').trim().split('\n');
      const [, , , , at, options] = mounts.find((line) => line.split(' ')[4] === '/')?.split(' ') ?? [];
      expect({ at, readOnly: options?.split(',').includes('ro') }).to.deep.equal({ at: '/', readOnly: true });
    });
  }

  it('answers the API server: a slice that is written comes back hinted', async () => {
    await bed().api.create('/api/v1/namespaces', { metadata: { name: 'shop' } });
    const path = '/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices';
    await bed().api.create(path, {
      metadata: { name: 'web-1', labels: { 'kubernetes.io/service-name': 'web', [LABEL_STRATEGY]: 'same-zone' } },
      addressType: 'IPv4',
      ports: [{ port: 443 }],
      endpoints: [{ addresses: ['192.0.2.1'], zone: 'eu-1a', conditions: { ready: true } }],
    });
    const touch = (): Promise<Slice> =>
      bed().api.patch<Slice>(`${path}/web-1`, { metadata: { annotations: { touched: `${Date.now()}` } } });
    await waitFor('hints', touch, ({ endpoints }) => endpoints?.[0]?.hints?.forZones?.[0]?.name === 'eu-1a');
  });

  it('ends on SIGTERM, without a word about what it was not allowed', async () => {
    for (const [component, program] of running) {
      await program.stop();
      expect(readFileSync(program.logFile, 'utf8'), component).not.to.match(/forbidden|EACCES|EROFS|ENOENT/i);
    }
  });
});
