import { expect } from 'chai';
import { describe, it } from 'mocha';
import { type BundledPackage, licencesOf, packagesOf } from '../../../hack/lib/packages.ts';
import { type LockFile, sbomOf } from '../../../hack/lib/sbom.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

interface Bill {
  components: Record<string, unknown>[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

const bundled = (folder: string, more: Partial<BundledPackage> = {}): BundledPackage => ({
  folder,
  name: folder.split('node_modules/').at(-1)!,
  version: '1.0.0',
  license: 'MIT',
  texts: [],
  ...more,
});
const project = { name: 'project', version: '2.0.0', license: 'Apache-2.0' };

const lock: LockFile = {
  packages: {
    '': { dependencies: { a: '^1', '@s/b': '^1' } },
    'node_modules/a': {
      integrity: `sha512-${Buffer.from('ab').toString('base64')}`,
      dependencies: { '@s/b': '2', c: '1' },
    },
    'node_modules/a/node_modules/@s/b': { optionalDependencies: { c: '1' } },
    'node_modules/@s/b': { peerDependencies: { a: '1', types: '1' } },
    'node_modules/c': {},
    'node_modules/types': {},
  },
};
const folders = ['node_modules/@s/b', 'node_modules/a', 'node_modules/a/node_modules/@s/b', 'node_modules/c'];
const billOf = (packages: readonly BundledPackage[]): Bill => JSON.parse(sbomOf({ project, packages, lock })) as Bill;

describe('the bill of materials', () => {
  it('has one component a package, with hash, licence and package URL', () => {
    const [component] = billOf([bundled('node_modules/a')]).components;
    expect(component).to.deep.equal({
      type: 'library',
      'bom-ref': 'node_modules/a',
      name: 'a',
      version: '1.0.0',
      scope: 'required',
      hashes: [{ alg: 'SHA-512', content: '6162' }],
      licenses: [{ license: { id: 'MIT' } }],
      purl: 'pkg:npm/a@1.0.0',
    });
  });

  it('parts a scope from the name and encodes its @', () => {
    const [component] = billOf([bundled('node_modules/@s/b')]).components;
    expect(component).to.include({ group: '@s', name: 'b', purl: 'pkg:npm/%40s/b@1.0.0' });
    expect(component, 'no hash in the lock file').not.to.have.property('hashes');
  });

  it('says what depends on what, by the nearest copy, and leaves out what is not inside', () => {
    const { dependencies } = billOf(folders.map((folder) => bundled(folder)));
    expect(Object.fromEntries(dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]))).to.deep.equal({
      'pkg:npm/project@2.0.0': ['node_modules/@s/b', 'node_modules/a'],
      'node_modules/@s/b': ['node_modules/a'],
      'node_modules/a': ['node_modules/a/node_modules/@s/b', 'node_modules/c'],
      'node_modules/a/node_modules/@s/b': ['node_modules/c'],
      'node_modules/c': [],
    });
  });
});

describe('the text of licences', () => {
  const folder = temporaryFolder();

  it('is the notices of the bundled files where a package has no file for it', () => {
    const file = (path: string, text: string): string => {
      folder.write(path, text);
      return path;
    };
    for (const name of ['a', 'b'])
      file(`node_modules/${name}/package.json`, JSON.stringify({ name, version: '1.0.0', license: 'MIT' }));
    file('node_modules/b/LICENSE', 'You may.');
    const packages = packagesOf(folder.path, [
      file('node_modules/a/one.js', '// Copyright 2020 A\n// You may.\n/** Code. */\nexport {};'),
      file('node_modules/a/two.js', '// Copyright 2020 A\n// You may.\nexport const two = 2;'),
      file('node_modules/a/three.js', '// Copyright 2008 B\n'),
      file('node_modules/a/four.js', '// A comment.\n'),
      file('node_modules/b/one.js', '// Copyright 2020 B\n'),
      file('pkg/own.ts', '// Copyright 2020 C\n'),
    ]);
    expect(packages.map(({ name, texts }) => [name, texts])).to.deep.equal([
      ['a', ['Copyright 2008 B\n\nCopyright 2020 A\nYou may.']],
      ['b', ['You may.']],
    ]);
  });

  it('has a heading a package and says where there is no text', () => {
    const text = licencesOf([
      bundled('node_modules/a', { texts: ['You may.'] }),
      bundled('node_modules/c', { license: undefined }),
    ]);
    expect(text).to.match(
      /^a 1\.0\.0 \(MIT\)\n\nYou may\.\n\n-{80}\n\nc 1\.0\.0 \(see below\)\n\nThe package holds no licence text\.\n$/,
    );
  });
});
