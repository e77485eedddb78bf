// The image as hack/image/Dockerfile describes it, run as the chart's Deployments say, on a real API server; and the meter's.
// Needs: conntrack
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { LABEL_STRATEGY } from '../../../pkg/apis/names.ts';
import type { Component as Program } from '../bed/component.ts';
import { useBed } from '../bed/index.ts';
import { controlPlaneAddresses, waitFor } from '../bed/machine.ts';
import type { Slice } from '../bed/pod.ts';
import { COMPONENTS, FLOW, NAMESPACE, RECONCILER, root, useHelm, WEBHOOK } from '../chart.ts';
import type { Component } from '../chart.ts';
import { commandReady } from '../commands.ts';
import { assembleImage, containerOf, runImage, runInImage } from '../image.ts';
import type { Image } from '../image.ts';
import { apply } from '../installation.ts';

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
    await apply(bed(), 'flowpolicies.yaml', readFileSync(join(root, 'example/flow/crd.yaml'), 'utf8'));
    const values = { flowController: { enabled: true } };
    await apply(bed(), 'chart.yaml', await helm().template(values));
    await bed().api.create(`/apis/discovery.k8s.io/v1/namespaces/${NAMESPACE}/endpointslices`, {
      metadata: { name: `${WEBHOOK}-bed`, labels: { 'kubernetes.io/service-name': WEBHOOK } },
      addressType: 'IPv4',
      ports: [{ name: 'https', port: 10_250, protocol: 'TCP' }],
      endpoints: [{ addresses: [controlPlaneAddresses.ipv4], conditions: { ready: true } }],
    });
  });
  after('end the containers', async () => {
    for (const program of running.values()) await program.stop();
    if (image !== undefined) rmSync(image.folder, { recursive: true, force: true });
  });

  it('holds Node.js, the libraries that it needs, and the bundle; no shell, and nothing to install with', () => {
    const files = readdirSync(image.folder, { recursive: true }).map(String);
    expect(files).to.include.members(['nodejs/bin/node', 'app/launch.js', 'app/LICENSES.txt', 'app/sbom.cdx.json']);
    expect(files.filter((file) => /node_modules|\/(?:sh|bash|npm|busybox)$/.test(file))).to.deep.equal([]);
  });

  it('says what it holds, and its version', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
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
    try {
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
    } finally {
      rmSync(meter.folder, { recursive: true, force: true });
    }
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
