// What the configuration of an Extension changes for the objects of a namespace, from the wish to the patch.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ANNOTATION_TOPOLOGY_MODE, GROUP, LABEL_STRATEGY } from '../../../../../pkg/apis/names.ts';
import { type ObjectsInput, decideObjects } from '../../../../../pkg/controllers/settings/decide/objects.ts';
import { type Governing, heldByConfiguration } from '../../../../../pkg/gardener/extension/select.ts';
import { etcd } from '../../../../fixtures/gardener.ts';
import { governing, read } from '../../../gardener/extension/support.ts';
import { ENABLED, NS, applied, context, named, refusedFor } from '../support.ts';

const routed = (name: string) => ({ ...named(name, {}, applied), spec: { trafficDistribution: 'PreferSameZone' } });

const decide = (by: Governing | undefined, input: Partial<ObjectsInput>) =>
  decideObjects({
    decision: heldByConfiguration(ENABLED, by),
    scope: 'shoot',
    services: [],
    etcds: [],
    context: context(),
    governing: by,
    ...input,
  });

/** `name: reason, what is wanted, what is written`. */
const outcome = (by: Governing | undefined, input: Partial<ObjectsInput>): string[] =>
  decide(by, input).map(({ ref, decision, want, plan }) => {
    const reason = decision.kind === 'enabled' ? 'Enabled' : decision.reason;
    const wish = want === undefined ? '' : ` ${want.labels[LABEL_STRATEGY] ?? want.trafficDistribution}`;
    return `${ref.name}: ${reason}${wish}, ${plan.kind}`;
  });

const cases: { name: string; by: Governing | undefined; input: Partial<ObjectsInput>; is: string[] }[] = [
  {
    name: 'a Service that is asked for is routed like any other',
    by: governing({ services: [{ name: 'mine' }] }),
    input: { services: [named('mine'), named('other')] },
    is: ['mine: Enabled PreferSameZone, patch'],
  },
  {
    name: 'with the strategy that is asked for',
    by: governing({ services: [{ selector: { matchLabels: { app: 'x' } }, strategy: 'load-aware' }] }),
    input: { services: [named('mine', { app: 'x' })] },
    is: ['mine: Enabled load-aware, patch'],
  },
  {
    name: 'what the Service itself asks for goes before',
    by: governing({ services: [{ name: 'mine', strategy: 'load-aware' }] }),
    input: { services: [named('mine', {}, { [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/same-node` })] },
    is: ['mine: Enabled same-node, patch'],
  },
  {
    name: "a strategy for one of Gardener's",
    by: governing({ services: [{ name: 'vpa-webhook', strategy: 'same-node' }] }),
    input: { services: [named('vpa-webhook')] },
    is: ['vpa-webhook: Enabled same-node, patch'],
  },
  {
    name: 'no configuration overrules L7',
    by: governing({ services: [{ name: 'kube-apiserver' }] }),
    input: { services: [named('kube-apiserver')] },
    is: ['kube-apiserver: LayerSevenLoadBalancing, unchanged'],
  },
  {
    name: 'what left the configuration is reverted',
    by: governing({ services: [] }),
    input: { services: [routed('mine')] },
    is: ['mine: NotInCatalogue, patch'],
  },
  {
    name: 'what the configuration excludes is reverted, Etcds too',
    by: governing({ exclude: [{ name: 'vpa-webhook' }, { name: 'etcd-main-client' }] }),
    input: {
      services: [routed('vpa-webhook')],
      etcds: [
        etcd({ metadata: { annotations: applied }, clientService: { trafficDistribution: 'PreferSameZone' } }),
        etcd({ metadata: { name: 'etcd-events' } }),
      ],
    },
    is: ['etcd-events: Excluded, unchanged', 'etcd-main: Excluded, unchanged', 'vpa-webhook: Excluded, patch'],
  },
  {
    name: 'the setting goes before the configuration',
    by: governing({ services: [{ name: 'mine' }] }),
    input: { decision: refusedFor('SettingDisabled'), services: [routed('mine')] },
    is: ['mine: SettingDisabled, patch'],
  },
  {
    name: 'an Extension that went takes what it asked for along',
    by: undefined,
    input: { services: [routed('mine'), routed('vpa-webhook')] },
    is: ['mine: NotInCatalogue, patch', 'vpa-webhook: Enabled PreferSameZone, unchanged'],
  },
  {
    name: 'a wrong configuration changes nothing, neither of its own nor of the catalogue',
    by: governing({}, { reading: read({}) }),
    input: { services: [routed('mine'), routed('vpa-webhook'), named('kube-apiserver'), named('other')] },
    is: [
      'kube-apiserver: ConfigurationInvalid, unchanged',
      'mine: ConfigurationInvalid, unchanged',
      'vpa-webhook: ConfigurationInvalid, unchanged',
    ],
  },
  {
    name: 'where the setting is off a wrong configuration keeps nothing on',
    by: governing({}, { reading: read({}) }),
    input: { decision: refusedFor('SettingDisabled'), services: [routed('mine')] },
    is: ['mine: SettingDisabled, patch'],
  },
  {
    name: 'in a namespace without catalogue',
    by: governing({ services: [{ name: 'mine', namespace: NS }] }, { class: 'seed' }),
    input: { scope: undefined, services: [named('mine'), named('vpa-webhook')] },
    is: ['mine: Enabled PreferSameZone, patch'],
  },
];

describe('decideObjects with the configuration of an Extension', () => {
  for (const { name, by, input, is } of cases) it(name, () => expect(outcome(by, input)).to.deep.equal(is));
});
