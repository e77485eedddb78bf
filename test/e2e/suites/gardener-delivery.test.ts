// A release as hack/delivery.ts makes it: pulled by helm and by Gardener's own client, rendered by gardenlet's renderer, found in the image vector, and accepted by gardener-apiserver.
// Soak: its programs take most of an hour to build.
// Needs built: gardener/gardener-1.141/gardener-apiserver, gardener/owner/owner
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { deliver } from '../../../hack/delivery.ts';
import type { Delivered } from '../../../hack/delivery/component.ts';
import { type Manifest, manifestsIn, readBlob, readJson } from '../../../hack/lib/oci.ts';
import { layBase } from '../../fixtures/oci-base.ts';
import { type Registry, startRegistry } from '../../fixtures/oci-registry.ts';
import { useBed } from '../bed/index.ts';
import { documents, useHelm } from '../chart.ts';
import { apply, applyDefinitions } from '../commands.ts';
import { askGardener, realDefinitions, RUNTIME } from '../gardener/owner.ts';
import { createSeedAndShoot, startVirtualGarden, storedSeed } from '../gardener/virtual-garden.ts';

const NAMES = { seed: 'my-seed', project: 'my-project', shoot: 'my-shoot' };

describe('gardener: delivery', () => {
  const bed = useBed();
  const { helm } = useHelm();
  let registry: Registry;
  let delivered: Delivered;
  const at = (path: string): string => join(bed().directory, path);
  const layer = (): Buffer =>
    readBlob(
      at('delivery/chart'),
      readJson<Manifest>(at('delivery/chart'), manifestsIn(at('delivery/chart'))[0]!).layers[0]!,
    );

  before('a release, made for a registry that serves it', async () => {
    registry = await startRegistry();
    layBase(at('base'), ['amd64', 'arm64'], Buffer.alloc(1024));
    const options = { registry: `${registry.host}/tar`, base: at('base'), bundle: at('base') };
    delivered = await deliver({ ...options, target: at('delivery') });
    for (const what of ['image', 'chart'] as const)
      registry.serve(delivered[what].repository.replace(`${registry.host}/`, ''), at(`delivery/${what}`));
  });

  it('has a chart that helm pulls by its version, byte for byte', async () => {
    const { chart, name, version } = delivered;
    await helm().pull(`oci://${chart.repository}`, version, bed().directory);
    expect(readFileSync(at(`${name}-${version}.tgz`)).equals(layer())).to.equal(true);
  });

  it('has a chart that Gardener pulls by tag and digest, as the manifests name it', async () => {
    const [deployment] = documents<{ kind: string; helm: { ociRepository: { ref: string } } }>(
      readFileSync(at('delivery/manifests/controllerregistration.yaml'), 'utf8'),
    );
    const reference = deployment?.helm.ociRepository.ref ?? '';
    expect(reference).to.equal(`${delivered.chart.repository}:${delivered.chart.tag}`);
    await askGardener(['pull', '--ref', reference, '--chart', at('pulled.tgz')]);
    expect(readFileSync(at('pulled.tgz')).equals(layer())).to.equal(true);
  });

  it('is found in the image vector by Gardener, with its digest, for both architectures', async () => {
    const lines = await askGardener(['images'], at('delivery/images.yaml'));
    const { repository, tag } = delivered.image;
    expect(lines.trim().split('\n')).to.deep.equal([`amd64 ${repository}:${tag}`, `arm64 ${repository}:${tag}`]);
  });

  describe('in a virtual garden', () => {
    const take = (name: string, text: string): Promise<string> => apply(bed(), name, text, '--force-conflicts');

    before(async () => {
      await applyDefinitions(bed(), await realDefinitions());
      await startVirtualGarden(bed());
      await createSeedAndShoot(bed(), take, NAMES);
    });

    it('has manifests that the API servers accept, every field of them', async () => {
      const files = readdirSync(at('delivery/manifests')).filter((file) => !file.includes('values'));
      expect(files).to.have.lengthOf(3);
      for (const file of files) await take(file, readFileSync(at(`delivery/manifests/${file}`), 'utf8'));
    });

    it('renders Pods of the delivered image, by its digest, without a value that names it', async () => {
      writeFileSync(at('none.json'), '{}');
      const flags = ['--chart', at('pulled.tgz'), '--values', at('none.json'), '--runtime', RUNTIME];
      const seed = ['--seed', await storedSeed(bed(), NAMES.seed), '--namespace', 'extension-tar'];
      const images = (await askGardener(['render', ...flags, ...seed])).match(/image: .*/g);
      const { repository, tag } = delivered.image;
      expect([...new Set(images)]).to.deep.equal([`image: ${repository}:${tag}`]);
    });
  });
});
