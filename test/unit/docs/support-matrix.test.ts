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

/** Parts of these are what commands print, and what make generate writes. */
const WRITTEN = ['README.md', 'docs/reference/reasons.md', 'docs/usage/audit.md', 'test/e2e/README.md'];

describe('pages that name versions of kube-proxy', () => {
  const newest = formatVersion(NEWEST_KNOWN_VERSION);
  it('leave the newest known one to the pages that make generate writes', () => {
    const named = new RegExp(
      `kube-proxy (?:of )?(?:from )?1\\.\\d+ to (?:${newest}|${LATE_ZONE_VERSIONS.slice(-4)})`,
      'g',
    );
    const pages = markdownPages().filter((page) => !['CHANGELOG.md', ...WRITTEN].includes(page));
    const found = pages.flatMap((page) => [...readText(page).matchAll(named)].map(([text]) => `${page}: ${text}`));
    expect(
      found,
      'a new version would have to be written there too: link the reason in docs/reference/reasons.md, or the table of versions in README.md',
    ).to.deep.equal([]);
  });
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
