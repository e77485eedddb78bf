// A release pulled together and pushed with the commands of docs/development/release.md: real skopeo and oras, and a registry that keeps what it gets.
// Needs no bed.
// Needs: skopeo
// Needs built: gardener/oras/oras
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { deliver } from '../../../hack/delivery.ts';
import type { Delivered } from '../../../hack/delivery/component.ts';
import { manifestsIn, readBlob, readIndex, REF_NAME } from '../../../hack/lib/oci.ts';
import { layConntrack, PLATFORMS } from '../../fixtures/conntrack-packages.ts';
import { layBase } from '../../fixtures/oci-base.ts';
import { type Registry, startRegistry } from '../../fixtures/oci-registry.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { commandsOf, shellBlocks } from '../../support/docs/markdown.ts';
import { builtProgram } from '../bed/binaries.ts';
import { run } from '../bed/machine.ts';

const PAGE = 'docs/development/release.md';
const COMMANDS = shellBlocks(PAGE)
  .flatMap(({ text }) => commandsOf(text))
  .filter((command) => /^(?:skopeo|oras) /.test(command));
const BASE = 'distroless/nodejs24-debian12';

describe('gardener: a release is pushed', () => {
  const folder = temporaryFolder();
  let registry: Registry;
  let delivered: Delivered;
  /** As oras takes it for one without TLS; skopeo is told so. */
  let host: string;
  const at = (path: string): string => folder.at(path);

  /** The command as the page has it, but for the names of the registries and TLS, in a folder whose `dist` is that of a checkout. */
  const follow = (command: string): Promise<string> => {
    const own = command
      .replace('gcr.io', host)
      .replace('registry.example.com', host)
      .replace('skopeo copy', 'skopeo copy --src-tls-verify=false --dest-tls-verify=false')
      .replace('skopeo inspect', 'skopeo inspect --tls-verify=false');
    return run('sh', ['-c', `cd '${folder.path}' && ${own}`], {
      ...process.env,
      PATH: `${dirname(builtProgram('gardener/oras/oras'))}:${process.env['PATH']}`,
    });
  };

  before('a registry with the base of the image', async () => {
    registry = await startRegistry();
    host = registry.host.replace('127.0.0.1', 'localhost');
    layBase(at('upstream'), ['amd64', 'arm64'], Buffer.alloc(1024));
    registry.serve(BASE, at('upstream'));
    mkdirSync(at('dist'));
  });

  it("has a command on its page for the base, and one for each of image, chart, component and the meter's image", () => {
    const programs = COMMANDS.map((command) => command.split(' ')[0]);
    expect(programs).to.deep.equal(['skopeo', 'skopeo', 'oras', 'oras', 'skopeo']);
  });

  it('begins with the base for all its platforms, as hack/delivery.ts takes it', async () => {
    await follow(COMMANDS[0]!);
    // Its digest may be another than upstream's: skopeo packs what is not packed, and writes OCI for Docker's format.
    expect(readIndex(at('dist/base')).manifests[0]?.annotations?.[REF_NAME]).to.equal('nonroot');
    const target = at('dist/delivery');
    for (const [architecture, triplet] of PLATFORMS) layConntrack(folder, `conntrack/${architecture}`, triplet);
    const from = { base: at('dist/base'), bundle: at('upstream'), conntrack: at('conntrack') };
    delivered = await deliver({ registry: `${host}/gardener`, ...from, target });
    expect(delivered.architectures).to.deep.equal(['amd64', 'arm64']);
  });

  for (const [index, what] of (['image', 'chart', 'component', 'traffic-meter'] as const).entries()) {
    it(`pushes the ${what}, byte for byte, under the tag and the digest that everything else names`, async () => {
      await follow(COMMANDS[index + 1]!);
      const layout = at(`dist/delivery/${what}`);
      const repository = {
        image: delivered.image.repository,
        chart: delivered.chart.repository,
        component: `${host}/gardener/component-descriptors/${delivered.home}`,
        'traffic-meter': delivered.meter?.repository ?? '',
      }[what].replace(`${host}/`, '');
      const pushed = registry.pushed(repository);
      const [root] = readIndex(layout).manifests;
      expect(pushed.get(delivered.version)?.digest).to.equal(root?.digest);
      for (const descriptor of [root!, ...manifestsIn(layout)])
        expect(pushed.get(descriptor.digest)?.content.equals(readBlob(layout, descriptor))).to.equal(true);
    });
  }

  it('leaves nothing in the registry that the page does not name', async () => {
    const pinned = `docker://${delivered.image.repository}@${delivered.image.descriptor.digest}`;
    expect(JSON.parse(await follow(`skopeo inspect --raw ${pinned}`)))
      .to.have.property('manifests')
      .with.lengthOf(2);
  });
});
