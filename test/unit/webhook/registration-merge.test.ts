import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { MutatingWebhook, MutatingWebhookConfiguration } from '../../../pkg/apis/admission.ts';
import { ANNOTATION_REGISTERED } from '../../../pkg/apis/names.ts';
import { mergeRegistration } from '../../../pkg/webhook/register.ts';
import { build } from './registration-support.ts';

const merge = (current: MutatingWebhookConfiguration | undefined, wanted = build(), keepFailurePolicy = true) =>
  mergeRegistration({ wanted, current, keepFailurePolicy });

/** What the server holds after our first write, with changes of others to its first webhook. */
const stored = (
  change: (webhook: MutatingWebhook) => Partial<MutatingWebhook> = () => ({}),
): MutatingWebhookConfiguration => {
  const first = merge(undefined) ?? expect.fail('nothing to write');
  const copy = structuredClone({ ...first, metadata: { ...first.metadata, resourceVersion: '7', uid: 'u' } });
  const [webhook, ...others] = copy.webhooks ?? [];
  return webhook === undefined ? copy : { ...copy, webhooks: [{ ...webhook, ...change(webhook) }, ...others] };
};

const extra = { key: 'team', operator: 'In' as const, values: ['a'] };

describe('mergeRegistration', () => {
  it('is done after one write also where no webhook is left, which the API server stores without a list', () => {
    const none = build({ claimed: false, keepSettings: false });
    const emptied = merge(stored(), none) ?? expect.fail('nothing to write');
    expect(emptied.webhooks).to.deep.equal([]);
    const { webhooks: _empty, ...asStored } = emptied;
    expect(merge(asStored, none)).to.equal(undefined);
    expect(merge(asStored)?.webhooks).to.have.length(build().webhooks?.length ?? 0);
  });

  const kept: { name: string; change: (webhook: MutatingWebhook) => Partial<MutatingWebhook> }[] = [
    {
      name: 'a requirement added to the namespace selector',
      change: ({ namespaceSelector }) => ({
        namespaceSelector: {
          ...namespaceSelector,
          matchExpressions: [...(namespaceSelector?.matchExpressions ?? []), extra],
        },
      }),
    },
    {
      name: 'a label added to the object selector',
      change: ({ objectSelector }) => ({ objectSelector: { matchLabels: { team: 'a' }, ...objectSelector } }),
    },
    {
      name: 'a match condition added',
      change: ({ matchConditions = [] }) => ({
        matchConditions: [...matchConditions, { name: 'theirs', expression: 'true' }],
      }),
    },
    { name: 'a shorter timeout', change: () => ({ timeoutSeconds: 2 }) },
    { name: 'another failure policy, where none was configured', change: () => ({ failurePolicy: 'Fail' }) },
  ];
  it('takes a note that cannot be read for none', () => {
    const current = stored();
    const annotations = { ...current.metadata.annotations, [ANNOTATION_REGISTERED]: '{' };
    const next = merge({ ...current, metadata: { ...current.metadata, annotations } });
    expect(next?.webhooks).to.deep.equal(current.webhooks);
  });

  it('takes back a requirement of its own that is not wanted any more', () => {
    const narrower = merge(undefined, build({ excludedNamespaces: ['default', 'more'] }));
    expect(merge(narrower, build())?.webhooks).to.deep.equal(build().webhooks);
  });

  it('raises a timeout again that it lowered itself', () => {
    const lowered = merge(undefined, build({ timeoutSeconds: 2 }));
    expect(merge(lowered, build())?.webhooks?.[0]?.timeoutSeconds).to.equal(build().webhooks?.[0]?.timeoutSeconds);
  });

  for (const { name, change } of kept) {
    it(`keeps ${name}`, () => {
      const current = stored(change);
      expect(merge(current)).to.equal(undefined);
      const changed = merge(current, build({ excludedNamespaces: ['default', 'more'] }));
      const first = changed?.webhooks?.[0];
      const before = current.webhooks?.[0];
      expect(JSON.stringify(first)).to.contain('"more"');
      expect(first?.timeoutSeconds).to.equal(before?.timeoutSeconds);
      expect(first?.failurePolicy).to.equal(before?.failurePolicy);
      if (name.includes('added')) expect(JSON.stringify(first)).to.match(/"team"|"theirs"/);
    });
  }

  const restored: { name: string; change: (webhook: MutatingWebhook) => Partial<MutatingWebhook> }[] = [
    { name: 'a requirement that was removed', change: () => ({ namespaceSelector: {} }) },
    {
      name: 'a match condition that was changed',
      change: ({ matchConditions = [] }) => ({
        matchConditions: matchConditions.map((one) => ({ ...one, expression: 'true' })),
      }),
    },
    { name: 'a longer timeout', change: () => ({ timeoutSeconds: 30 }) },
    { name: 'another address', change: () => ({ clientConfig: { url: 'https://evil' } }) },
    { name: 'rules', change: () => ({ rules: [] }) },
  ];
  for (const { name, change } of restored)
    it(`restores ${name}`, () => expect(merge(stored(change))?.webhooks).to.deep.equal(build().webhooks));

  it('a failure policy that was configured wins', () => {
    const wanted = build({ failurePolicy: 'Fail' });
    expect(merge(stored(), wanted, false)?.webhooks?.[0]?.failurePolicy).to.equal('Fail');
  });

  it('settings stay Ignore whatever was set', () => {
    const current = stored();
    const changed = {
      ...current,
      webhooks: current.webhooks?.map((webhook) => ({ ...webhook, failurePolicy: 'Fail' as const })) ?? [],
    };
    expect(merge(changed)?.webhooks?.map(({ failurePolicy }) => failurePolicy)).to.deep.equal([
      'Fail',
      'Fail',
      'Ignore',
      'Ignore',
      'Ignore',
      'Ignore',
      'Ignore',
    ]);
  });

  it('the bundle of another writer stays where none is known here, and is replaced where one is', () => {
    const current = stored(({ clientConfig }) => ({ clientConfig: { ...clientConfig, caBundle: 'b3RoZXI=' } }));
    expect(merge(current, build({ caBundle: undefined }))).to.equal(undefined);
    expect(merge(current)?.webhooks?.[0]?.clientConfig.caBundle).to.equal(Buffer.from('PEM').toString('base64'));
  });

  it("labels, annotations and webhooks of others stay; this webhook's own that are no longer wanted go", () => {
    const current = stored();
    const theirs = { ...(current.webhooks?.[0] as MutatingWebhook), name: 'their.webhook.example.com' };
    const next = merge(
      {
        ...current,
        metadata: { ...current.metadata, labels: { ...current.metadata.labels, theirs: 'x' } },
        webhooks: [...(current.webhooks ?? []), theirs],
      },
      build({ keepSettings: false, strategyAnnotation: false }),
    );
    expect(next?.metadata.labels).to.include({ theirs: 'x' });
    expect(next?.metadata.resourceVersion).to.equal('7');
    expect(next?.webhooks?.map(({ name }) => name.split('.')[0])).to.deep.equal([
      'endpoint-slice-hints',
      'label-1',
      'etcd-clients',
      'their',
    ]);
  });
});
