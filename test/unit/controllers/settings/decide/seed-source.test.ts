// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { chooseSeed } from '../../../../../pkg/controllers/settings/decide/seed-source.ts';
import { seed } from '../../../../fixtures/gardener.ts';

const live = seed({ metadata: { name: 'live' } });
const ofCluster = seed({ metadata: { name: 'cluster' } });
const configured = { spec: { provider: { zones: ['a'] } } };

describe('chooseSeed', () => {
  it('prefers the live Seed, then the configuration, then the Cluster', () => {
    expect(chooseSeed({ live, configured, ofCluster })).to.deep.equal({ seed: live, source: 'garden' });
    expect(chooseSeed({ live: undefined, configured, ofCluster }).source).to.equal('configuration');
    expect(chooseSeed({ live: undefined, configured: undefined, ofCluster })).to.deep.equal({
      seed: ofCluster,
      source: 'Cluster',
    });
    expect(chooseSeed({ live: undefined, configured: undefined, ofCluster: undefined })).to.deep.equal({
      seed: undefined,
      source: 'none',
    });
  });

  it('names the configured Seed in messages', () => {
    const { seed: chosen } = chooseSeed({ live: undefined, configured, ofCluster: undefined, name: 'mine' });
    expect(chosen).to.deep.equal({ metadata: { name: 'mine' }, ...configured });
  });
});
