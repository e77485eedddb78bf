import { expect } from 'chai';
import { describe, it } from 'mocha';
import { checkCircles } from '../../../hack/lib/circles.ts';
import { importsOf } from '../../../hack/lib/sources.ts';

const project = (files: Readonly<Record<string, readonly string[]>>) =>
  Object.entries(files).map(([path, imported]) => {
    const text = imported.map((from) => `import type { T } from '${from}';`).join('\n');
    return { path, text, imports: importsOf(path, text, '/project') };
  });

describe('hack: circles of imports', () => {
  const cases: { name: string; files: Readonly<Record<string, readonly string[]>>; circles: string[] }[] = [
    {
      name: 'files that import only downward form no circle',
      files: { 'pkg/a/one.ts': ['./two.ts'], 'pkg/a/two.ts': ['../b/three.ts'], 'pkg/b/three.ts': [] },
      circles: [],
    },
    {
      name: 'two files that take types from each other form one circle',
      files: { 'pkg/a/one.ts': ['./two.ts'], 'pkg/a/two.ts': ['./one.ts'] },
      circles: ['circle of imports: pkg/a/one.ts -> pkg/a/two.ts -> pkg/a/one.ts'],
    },
    {
      name: 'folders side by side that import each other form a circle, though no file does',
      files: {
        'pkg/x/a/one.ts': ['../b/two.ts'],
        'pkg/x/a/other.ts': [],
        'pkg/x/b/two.ts': [],
        'pkg/x/b/three.ts': ['../a/other.ts'],
      },
      circles: ['circle of imports: pkg/x/a -> pkg/x/b -> pkg/x/a'],
    },
    {
      name: 'a folder and the folders in it may import each other',
      files: { 'pkg/a/one.ts': ['./deep/two.ts'], 'pkg/a/types.ts': [], 'pkg/a/deep/two.ts': ['../types.ts'] },
      circles: [],
    },
  ];
  for (const { name, files, circles } of cases)
    it(name, () => expect(checkCircles(project(files))).to.deep.equal(circles));
});
