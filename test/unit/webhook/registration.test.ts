import { expect } from 'chai';
import { describe, it } from 'mocha';
import {
  ETCD_CLIENT_SERVICES,
  LABEL_CONSIDER,
  LABEL_ROUTING,
  LABEL_STRATEGY,
  STRATEGIES,
} from '../../../pkg/apis/names.ts';
import type { RegistrationOptions } from '../../../pkg/webhook/registration-types.ts';
import { buildRegistration } from '../../../pkg/webhook/register.ts';

const optionsOf = (more: Partial<RegistrationOptions> = {}): RegistrationOptions => ({
  name: 'gardener-extension-topology-aware-routing',
  version: { major: 1, minor: 36 },
  address: { kind: 'service', namespace: 'ext', name: 'endpointslice-webhook', port: 443 },
  caBundle: 'PEM',
  excludedNamespaces: ['default', 'ext', 'kube-system'],
  timeoutSeconds: 5,
  settingsReconcilerUser: 'reconciler',
  strategyAnnotation: true,
  keepSettings: true,
  ...more,
});
const webhooksOf = (more: Partial<RegistrationOptions> = {}) => buildRegistration(optionsOf(more)).webhooks ?? [];
const namesOf = (more: Partial<RegistrationOptions> = {}) =>
  webhooksOf(more).map(({ name }) => name.split('.topology')[0]);
const byName = (name: string, more: Partial<RegistrationOptions> = {}) => {
  const found = webhooksOf(more).find((webhook) => webhook.name.startsWith(name));
  if (found === undefined) throw new Error(`${name} is not registered`);
  return found;
};

describe('buildRegistration', () => {
  it("finds what etcd-druid makes by namespace and name: it cannot have this project's labels", () => {
    const labelled = { 'topology.extensions.gardener.cloud/etcd-clients': 'true' };
    const hints = byName('etcd-clients.endpoint-slice-hints');
    expect(hints.namespaceSelector?.matchLabels).to.deep.equal(labelled);
    expect(hints.objectSelector?.matchExpressions?.[0]).to.deep.equal({
      key: 'kubernetes.io/service-name',
      operator: 'In',
      values: [...ETCD_CLIENT_SERVICES],
    });
    const settings = byName('etcd-clients.routing-settings');
    expect(settings.namespaceSelector?.matchLabels).to.deep.equal(labelled);
    expect(settings.objectSelector?.matchLabels).to.deep.equal({ 'app.kubernetes.io/managed-by': 'etcd-druid' });
    const released = byName('etcd-clients-released');
    expect(released.namespaceSelector?.matchExpressions?.slice(0, 2)).to.deep.equal([
      { key: 'gardener.cloud/role', operator: 'In', values: ['shoot', 'garden'] },
      { key: 'topology.extensions.gardener.cloud/etcd-clients', operator: 'NotIn', values: ['true'] },
    ]);
  });

  it('asks about evacuated slices last, wherever they are, while a zone is evacuated', () => {
    expect(namesOf({ evacuating: [] })).to.deep.equal([...namesOf(), 'zone-evacuation']);
    expect(namesOf({ evacuating: [], claimed: false })).not.to.include('zone-evacuation');
    const entry = byName('zone-evacuation', { evacuating: [], failurePolicy: 'Fail' });
    expect(entry).to.deep.include({ namespaceSelector: {}, objectSelector: {}, failurePolicy: 'Ignore' });
    expect(entry.matchConditions?.at(-1)?.expression).to.contain('topology.extensions.gardener.cloud/evacuated');
  });

  it('asks about slices with endpoints of a zone that is evacuated whole, and never writes a hostile name into a rule', () => {
    const entry = byName('zone-evacuation', { evacuating: ['eu-1a', "x'] || true || ['"] });
    expect(entry.matchConditions?.at(-1)?.expression).to.match(
      / \|\| object\.endpoints\.exists\(e, has\(e\.zone\) && e\.zone in \['eu-1a'\]\)$/,
    );
  });

  it('fails open, fast, without side effects, and is asked once', () => {
    for (const webhook of webhooksOf()) {
      expect(webhook, webhook.name).to.include({
        failurePolicy: 'Ignore',
        sideEffects: 'None',
        matchPolicy: 'Equivalent',
        reinvocationPolicy: 'Never',
        timeoutSeconds: 5,
      });
      expect(webhook.admissionReviewVersions).to.deep.equal(['v1']);
      expect(webhook.name.split('.').length, 'the API wants a qualified name').to.be.at.least(3);
    }
  });

  it('Fail is for slices only, and for none of an etcd', () => {
    const policies = webhooksOf({ failurePolicy: 'Fail' }).map(({ failurePolicy }) => failurePolicy);
    expect(policies).to.deep.equal(['Fail', 'Fail', 'Ignore', 'Ignore', 'Ignore', 'Ignore', 'Ignore']);
  });

  it('selects every strategy, and consider where no strategy is asked for', () => {
    const notUs = { key: 'kubernetes.io/service-name', operator: 'NotIn', values: ['endpointslice-webhook'] };
    expect(byName('endpoint-slice-hints').objectSelector?.matchExpressions).to.deep.equal([
      { key: LABEL_STRATEGY, operator: 'In', values: [...STRATEGIES] },
      notUs,
    ]);
    expect(byName('label-1').objectSelector?.matchExpressions).to.deep.equal([
      { key: LABEL_CONSIDER, operator: 'In', values: ['true'] },
      { key: LABEL_STRATEGY, operator: 'NotIn', values: [...STRATEGIES] },
      notUs,
    ]);
  });

  it('keeps settings only where the reconciler labelled the namespace, on UPDATE', () => {
    const webhook = byName('routing-settings');
    expect(webhook.namespaceSelector?.matchLabels).to.deep.equal({ [LABEL_ROUTING]: 'true' });
    expect(webhook.rules?.map(({ resources, operations }) => [resources, operations])).to.deep.equal([
      [['services'], ['UPDATE']],
    ]);
  });

  it('has match conditions from 1.28, and without them does not ask about every Service', () => {
    for (const webhook of webhooksOf()) expect(webhook.matchConditions, webhook.name).to.have.length.above(0);
    for (const minor of [24, 27]) {
      const older = { version: { major: 1, minor } };
      expect(namesOf(older)).to.deep.equal([
        'endpoint-slice-hints',
        'label-1.endpoint-slice-hints',
        'etcd-clients.endpoint-slice-hints',
        'routing-settings',
        'etcd-clients.routing-settings',
        'etcd-clients-released.routing-settings',
      ]);
      for (const webhook of webhooksOf(older)) expect(webhook).to.not.have.property('matchConditions');
    }
  });

  it('leaves slices and annotations to the installation that has the claim, and keeps its settings', () => {
    expect(namesOf({ claimed: false })).to.deep.equal(['routing-settings']);
    expect(namesOf({ claimed: true })).to.deep.equal(namesOf());
  });
});
