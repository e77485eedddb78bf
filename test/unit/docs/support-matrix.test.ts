// What the support matrix calls measured was measured on the very programs that the end-to-end tests are pinned to.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { supportMatrix } from '../../../hack/generate/support-matrix.ts';
import { LATE_ZONE_VERSIONS } from '../../../pkg/diagnosis/explain/reasons.ts';
import { NEWEST_KNOWN_VERSION, formatVersion } from '../../../pkg/routing/version.ts';
import type { MeasuredVersion } from '../../e2e/versions-plan.ts';
import { markdownPages, readText, root } from '../../support/docs/markdown.ts';

const pinned = (version: string): string | undefined =>
  / k8s\.io\/kubernetes (v[\d.]+)/.exec(readText(`hack/kubernetes/${version}/go.mod`).replaceAll(/\s+/g, ' '))?.[1];

const versions = readdirSync(join(root, 'hack/kubernetes')).filter((name) => /^1\.\d+$/.test(name));
const measured = JSON.parse(readText('test/e2e/results/measured-versions.json')) as MeasuredVersion[];

describe('pages that name versions of kube-proxy', () => {
  const newest = formatVersion(NEWEST_KNOWN_VERSION);
  for (const [pattern, expected, constant] of [
    [/kube-proxy (?:of )?1\.34 to [\d.]+\d/g, LATE_ZONE_VERSIONS, 'MISSES_LATE_ZONE of pkg/upstream/features.ts'],
    [/kube-proxy 1\.21 to [\d.]+\d/g, `1.21 to ${newest}`, 'NEWEST_KNOWN_VERSION of pkg/routing/version.ts'],
  ] as const) {
    it(`say ${expected} where they mean it, as ${constant}`, () => {
      const pages = markdownPages().filter((page) => page !== 'CHANGELOG.md');
      const found = pages.flatMap((page) => [...readText(page).matchAll(pattern)].map(([text]) => `${page}: ${text}`));
      expect(found).to.not.deep.equal([]);
      const other = found.filter((text) => !text.endsWith(expected));
      expect(other, `write "${expected}" there`).to.deep.equal([]);
    });
  }
});

describe('the support matrix', () => {
  it('has a measurement of every version that the end-to-end tests build', () => {
    expect(measured.map(({ kubernetesVersion }) => kubernetesVersion)).to.have.members(versions);
  });

  for (const { kubernetesVersion, date, components, connections } of measured) {
    it(`${kubernetesVersion} was measured on the release that is pinned now; if not, make soak SUITES=versions VERSIONS=${kubernetesVersion}`, async () => {
      const version = pinned(kubernetesVersion);
      expect(version).to.match(/^v1\.\d+\.\d+$/);
      expect([...new Set(Object.values(components))]).to.deep.equal([version]);
      expect(connections).to.be.above(0);
      const row = (await supportMatrix.render())
        .split('\n')
        .find((line) => line.startsWith(`| ${kubernetesVersion} |`));
      expect(row).to.contain(`measured ${date} on ${version}: ${connections} connections`);
    });
  }
});
