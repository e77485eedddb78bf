import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import type { StatusEvidence } from '../../../pkg/diagnosis/status/evidence.ts';
import { status } from '../../../pkg/diagnosis/status/status.ts';
import { ageText } from '../../../pkg/report/figures.ts';
import { imageText, renderStatus } from '../../../pkg/report/status.ts';
import { changed, statusEvidence } from '../../fixtures/status-evidence.ts';

const PLAIN = { color: false, wide: false, columns: 100 };

const render = (
  overrides: Partial<StatusEvidence> = {},
  change?: (objects: KubernetesObject[]) => readonly KubernetesObject[],
  style = PLAIN,
): string => renderStatus(status(statusEvidence(overrides, change)), style);

/** The line that begins with the title. */
const lineOf = (text: string, title: string): string =>
  text.split('\n').find((line) => line.trimStart().startsWith(title)) ?? '';

describe('status on a screen', () => {
  it('fits on one, without trailing blanks', () => {
    const lines = render().split('\n');
    expect(lines.length).to.be.at.most(40);
    expect(lines.filter((line) => line !== line.trimEnd() || Array.from(line).length > 100)).to.deep.equal([]);
  });

  it('names what is wrong first, each with what to do', () => {
    const text = render({ probes: [{ namespace: 'shop', outcome: 'NotHinted', message: '' }] });
    expect(text.split('\n')[0]).to.equal('Degraded: AdmissionNotActing');
    expect(text).to.match(/✗ AdmissionNotActing\n {4}Slice in namespace shop: .*\n {2}→ See whether/);
    expect(lineOf(text, 'DRY RUN')).to.equal('DRY RUN     ✗ slice in namespace shop: came back without hints');
  });

  it('shows replicas that are not yet new', () => {
    const old = changed('Deployment', 'flow-controller', () => ({ status: { readyReplicas: 2, updatedReplicas: 1 } }));
    expect(lineOf(render({}, old), 'flow-controller')).to.contain('2/2 (1 new)');
  });

  it('names what was not seen, and prints no control characters of others', () => {
    const text = render({ unseen: [{ what: 'pods', why: 'you may not list pods\u001B[2J' }] });
    expect(text).to.contain('Not seen: pods (you may not list pods [2J).');
    expect(lineOf(text, 'flow-controller')).to.contain('?');
  });

  it('wide: the whole image', () => {
    const wide = render({}, undefined, { ...PLAIN, wide: true });
    expect(wide).to.contain('registry.example/extensions/gardener-extension-topology-aware-routing:0.1.0');
    expect(render()).not.to.contain('registry.example');
  });

  it('ages and images in short', () => {
    const ages = [null, 0, 119, 120, 7_199, 7_200, 172_799, 172_800].map(ageText);
    expect(ages).to.deep.equal(['-', '0 s', '119 s', '2 min', '119 min', '2 h', '47 h', '2 d']);
    expect(imageText('registry.example:5000/a/b:v1')).to.equal('b:v1');
    expect(imageText(`b@sha256:${'0123456789ab'.padEnd(64, 'f')}`)).to.equal('b@sha256:0123456789ab');
  });

  it('colours only for a terminal', () => {
    expect(render()).not.to.contain('\u001B');
    expect(render({}, undefined, { ...PLAIN, color: true })).to.contain('\u001B[32mHealthy');
  });
});
