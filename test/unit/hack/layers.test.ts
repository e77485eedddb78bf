import { expect } from 'chai';
import { describe, it } from 'mocha';
import { checkLayers } from '../../../hack/lib/layers.ts';
import { importsOf } from '../../../hack/lib/sources.ts';

const file = (path: string, text: string) => ({ path, text, imports: importsOf(path, text, '/project') });

const PURE_HEADER = '// Decides. Pure.\n';

describe('hack: layers', () => {
  const cases: { name: string; path: string; text: string; finding: RegExp | undefined }[] = [
    {
      name: 'a pure package may import apis',
      path: 'pkg/routing/a.ts',
      text: `import { GROUP } from '../apis/names.ts';`,
      finding: undefined,
    },
    {
      name: 'a pure package must not import the Kubernetes layer, not even types',
      path: 'pkg/routing/a.ts',
      text: `import type { Client } from '../kubernetes/types.ts';`,
      finding: /pkg\/routing\/a\.ts:1: layer routing must not import layer kubernetes/,
    },
    {
      name: 'a pure package must not import built-ins',
      path: 'pkg/hints/a.ts',
      text: `\nimport { readFileSync } from 'node:fs';`,
      finding: /a\.ts:2: layer hints does no I\/O and must not import node:fs/,
    },
    {
      name: 'a pure package must not read the clock',
      path: 'pkg/gardener/a.ts',
      text: `export const now = () => Date.now();`,
      finding: /a\.ts:1: a pure package reads the clock/,
    },
    {
      name: 'prose about the clock in a comment is no finding',
      path: 'pkg/gardener/a.ts',
      text: `// Date.now() is not read here.\nexport const a = 1;`,
      finding: undefined,
    },
    {
      name: 'a file that calls itself pure must not read the clock, wherever it stands',
      path: 'pkg/controllers/a.ts',
      text: `${PURE_HEADER}export const now = () => Date.now();`,
      finding: /a\.ts:2: a pure package reads the clock/,
    },
    {
      name: 'a file that calls itself pure must not run one that does not',
      path: 'pkg/controllers/a.ts',
      text: `${PURE_HEADER}import { write } from './b.ts';`,
      finding: /a\.ts:2: a file that calls itself pure must not run pkg\/controllers\/b\.ts/,
    },
    {
      name: 'a file that calls itself pure may run pure layers, and take types from anywhere',
      path: 'pkg/controllers/a.ts',
      text: `${PURE_HEADER}import type { Client } from '../kubernetes/types.ts';\nimport { plan } from '../routing/plan.ts';`,
      finding: undefined,
    },
    {
      name: 'apis imports nothing above',
      path: 'pkg/apis/a.ts',
      text: `export { x } from '../routing/index.ts';`,
      finding: /layer apis must not import layer routing/,
    },
    {
      name: 'dynamic imports count',
      path: 'pkg/kubernetes/a.ts',
      text: `const m = await import('../webhook/server.ts');`,
      finding: /layer kubernetes must not import layer webhook/,
    },
    {
      name: 'a package of another layer is refused',
      path: 'pkg/controllers/a.ts',
      text: `import express from 'express';`,
      finding: /layer controllers must not import package express/,
    },
    {
      name: 'types of client-node are free',
      path: 'pkg/routing/a.ts',
      text: `import type { V1Service } from '@kubernetes/client-node';`,
      finding: undefined,
    },
    {
      name: 'client-node at run time belongs to one file',
      path: 'pkg/kubernetes/client.ts',
      text: `import { KubeConfig } from '@kubernetes/client-node';`,
      finding: /only pkg\/kubernetes\/kubeconfig\.ts loads client-node/,
    },
    {
      name: 'commands do not import each other',
      path: 'cmd/one/app.ts',
      text: `import { run } from '../two/app.ts';`,
      finding: /one command imports another/,
    },
    {
      name: 'the product does not import tests',
      path: 'cmd/one/app.ts',
      text: `import { x } from '../../test/fixtures/x.ts';`,
      finding: /not part of the product/,
    },
    {
      name: 'an unknown package is refused until it is given a layer',
      path: 'pkg/surprise/a.ts',
      text: `export const a = 1;`,
      finding: /pkg\/surprise is not a known layer/,
    },
  ];
  for (const { name, path, text, finding } of cases) {
    it(name, () => {
      const findings = checkLayers([file(path, text)]);
      if (finding === undefined) expect(findings).to.deep.equal([]);
      else expect(findings.join('\n')).to.match(finding);
    });
  }
});
