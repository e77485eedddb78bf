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

const of = (...services: ReturnType<typeof named>[]): Partial<ObjectsInput> => ({ services });
const serving = (...services: object[]) => governing({ services });
const off = { decision: refusedFor('SettingDisabled'), ...of(routed('mine')) };
const byOwner = named('mine', {}, { [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/same-node` });
const byLabel = { selector: { matchLabels: { app: 'x' } }, strategy: 'load-aware' };
const webhook = named('vpa-webhook');
const WRONG = governing({}, { reading: read({}) });
const elsewhere = governing({ services: [{ name: 'mine', namespace: NS }] }, { class: 'seed' });
const L7 = 'LayerSevenLoadBalancing';

type Case = readonly [name: string, by: Governing | undefined, input: Partial<ObjectsInput>, ...is: string[]];
const cases: readonly Case[] = [
  [
    'what is asked for',
    serving({ name: 'mine' }),
    of(named('mine'), named('other')),
    'mine: Enabled PreferSameZone, patch',
  ],
  ['with its strategy', serving(byLabel), of(named('mine', { app: 'x' })), 'mine: Enabled load-aware, patch'],
  ['its owner first', serving({ name: 'mine', strategy: 'load-aware' }), of(byOwner), 'mine: Enabled same-node, patch'],
  [
    "a strategy for one of Gardener's",
    serving({ name: 'vpa-webhook', strategy: 'same-node' }),
    of(webhook),
    'vpa-webhook: Enabled same-node, patch',
  ],
  [
    'no configuration overrules L7',
    serving({ name: 'kube-apiserver' }),
    of(named('kube-apiserver')),
    `kube-apiserver: ${L7}, unchanged`,
  ],
  ['what left the configuration is reverted', serving(), of(routed('mine')), 'mine: NotInCatalogue, patch'],
  [
    'what the configuration excludes is reverted, Etcds too',
    governing({ exclude: [{ name: 'vpa-webhook' }, { name: 'etcd-main-client' }] }),
    {
      services: [routed('vpa-webhook')],
      etcds: [
        etcd({ metadata: { annotations: applied }, clientService: { trafficDistribution: 'PreferSameZone' } }),
        etcd({ metadata: { name: 'etcd-events' } }),
      ],
    },
    'etcd-events: Excluded, unchanged',
    'etcd-main: Excluded, unchanged',
    'vpa-webhook: Excluded, patch',
  ],
  ['the setting goes before the configuration', serving({ name: 'mine' }), off, 'mine: SettingDisabled, patch'],
  [
    'an Extension that went takes what it asked for along',
    undefined,
    of(routed('mine'), routed('vpa-webhook')),
    'mine: NotInCatalogue, patch',
    'vpa-webhook: Enabled PreferSameZone, unchanged',
  ],
  [
    'a wrong configuration changes nothing, neither of its own nor of the catalogue',
    WRONG,
    of(routed('mine'), routed('vpa-webhook'), named('kube-apiserver'), named('other')),
    ...['kube-apiserver', 'mine', 'vpa-webhook'].map((name) => `${name}: ConfigurationInvalid, unchanged`),
  ],
  ['where the setting is off a wrong one keeps nothing on', WRONG, off, 'mine: SettingDisabled, patch'],
  [
    'in a namespace without catalogue',
    elsewhere,
    { scope: undefined, ...of(named('mine'), webhook) },
    'mine: Enabled PreferSameZone, patch',
  ],
];

describe('decideObjects with the configuration of an Extension', () => {
  for (const [name, by, input, ...is] of cases) it(name, () => expect(outcome(by, input)).to.deep.equal(is));
});
