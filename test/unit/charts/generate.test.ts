import { expect } from 'chai';
import { describe, it } from 'mocha';
import { chartRegistration } from '../../../hack/generate/chart.ts';

describe('the registration in the chart', () => {
  it('carries match conditions in the variant for 1.28 and newer only', async () => {
    const [newer, older] = (await chartRegistration.render()).split('{{- else }}');
    expect(newer).to.contain('semverCompare ">= 1.28-0"').and.to.contain('matchConditions:');
    expect(older).to.contain('kind: MutatingWebhookConfiguration').and.not.to.contain('matchConditions:');
  });

  it('takes name, namespace, certificate, policy and timeout from the release', async () => {
    const text = await chartRegistration.render();
    for (const field of ['name', 'namespace', 'caBundle', 'failurePolicy', 'timeoutSeconds'])
      expect(text).to.match(new RegExp(`^ +${field}: \\{\\{ .* \\}\\}$`, 'm'));
    expect(text).to.contain('"system:serviceaccount:{{ .Release.Namespace }}:settings-reconciler"');
    expect(text).not.to.contain('placeholder');
  });

  it('excludes the namespaces that the code guards', async () => {
    expect(await chartRegistration.render()).to.contain('(list .Release.Namespace "default" "kube-system")');
  });

  it('leaves only slices to the configured policy', async () => {
    const entries = (await chartRegistration.render()).split('  - name: ').slice(1);
    const configured = entries.filter((entry) => entry.includes('failurePolicy: {{'));
    expect(configured).to.have.lengthOf(4);
    for (const entry of configured) expect(entry).to.contain('endpointslices');
  });
});
