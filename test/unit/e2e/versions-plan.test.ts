// SPDX-License-Identifier: Apache-2.0
// Which Kubernetes versions are shown, what each is held to, and the record of those that were.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { parseVersion, routingSettings } from '../../../pkg/routing/index.ts';
import { shapeOf, versionCases, withMeasured } from '../../e2e/versions-plan.ts';
import type { MeasuredVersion } from '../../e2e/versions-plan.ts';

const versionsOf = (value?: string): string[] =>
  versionCases(value === undefined ? {} : { E2E_VERSIONS: value }).map(({ version }) => version);

describe('versions to show on real Kubernetes', () => {
  for (const { name, value, expected } of [
    { name: 'the newest by default', value: undefined, expected: ['1.36'] },
    { name: 'all', value: 'all', expected: ['1.30', '1.31', '1.33', '1.34', '1.36'] },
    { name: 'a list with blanks', value: '1.33, 1.31', expected: ['1.31', '1.33'] },
  ]) {
    it(`are ${name}`, () => expect(versionsOf(value)).to.deep.equal(expected));
  }

  it('are refused where there is no such case', () => {
    expect(() => versionsOf('1.31,1.32')).to.throw(RangeError, 'E2E_VERSIONS: no version 1.32; versions: 1.30, 1.31');
  });

  it('are held to what pkg/routing says', () => {
    for (const { version, mode, consider, trafficDistribution } of versionCases({ E2E_VERSIONS: 'all' })) {
      const { labels, annotations, trafficDistribution: field } = routingSettings(parseVersion(version));
      const service = { metadata: { labels, annotations }, spec: { ...(field && { trafficDistribution: field }) } };
      expect(shapeOf(service), version).to.deep.equal({ mode, consider, trafficDistribution });
    }
  });
});

describe('measured versions', () => {
  const one = (kubernetesVersion: string, date: string): MeasuredVersion => ({
    kubernetesVersion,
    date,
    components: {},
    connections: 600,
  });
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'measured-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('begin with the first', () => {
    expect(withMeasured(folder, one('1.36', 'new'))).to.deep.equal([one('1.36', 'new')]);
    expect(withMeasured(undefined, one('1.36', 'new'))).to.deep.equal([one('1.36', 'new')]);
  });

  it('keep those of other versions, oldest first', () => {
    const known = [one('1.31', 'old'), one('1.36', 'old')];
    writeFileSync(join(folder, 'measured-versions.json'), JSON.stringify(known));
    expect(withMeasured(folder, one('1.9', 'new'))).to.deep.equal([one('1.9', 'new'), ...known]);
    expect(withMeasured(folder, one('1.31', 'new'))).to.deep.equal([one('1.31', 'new'), one('1.36', 'old')]);
  });
});
