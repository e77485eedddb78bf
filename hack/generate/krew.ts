// hack/krew/topology.yaml: by which krew, kubectl's plug-in manager, installs `kubectl topology`.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { stringify } from 'yaml';
import type { Generator } from './types.ts';

const HOMEPAGE = 'https://github.com/gardener/gardener-extension-topology-aware-routing';
const ARCHIVE = 'kubectl-topology.tar.gz';

const versionOf = (): string => {
  const file = resolve(import.meta.dirname, '../../package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
};

export const krew: Generator = {
  path: 'hack/krew/topology.yaml',
  render: () => {
    const version = `v${versionOf()}`;
    const manifest = {
      apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
      kind: 'Plugin',
      metadata: { name: 'topology' },
      spec: {
        version,
        homepage: HOMEPAGE,
        shortDescription: 'Why Service traffic crosses zones, and what helps',
        description:
          'Explains for each Service whether routing by zone is wanted, given, used and effective,\nnames the first cause where it is not, and shows what every other mode would do.\n',
        caveats: 'Needs Node.js 24 or newer on the PATH as node.\n',
        platforms: [
          {
            selector: { matchExpressions: [{ key: 'os', operator: 'In', values: ['linux', 'darwin'] }] },
            uri: `${HOMEPAGE}/releases/download/${version}/${ARCHIVE}`,
            // hack/krew.ts fills it in at release: the checksum of the archive is known only then.
            sha256: '0'.repeat(64),
            bin: 'kubectl-topology',
            files: [
              { from: 'kubectl-topology', to: '.' },
              { from: 'chunks/*', to: 'chunks' },
              { from: 'package.json', to: '.' },
              { from: 'kubectl_complete-topology', to: '.' },
              { from: 'LICENSE', to: '.' },
              { from: 'LICENSES.txt', to: '.' },
            ],
          },
        ],
      },
    };
    return stringify(manifest, { singleQuote: true, lineWidth: 0 });
  },
};
