import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { maskText, maskValue } from '../../../pkg/telemetry/redact.ts';
import { SECRETS_TO_PLANT } from '../../fixtures/planted-secrets.ts';
import { upTo } from '../../support/depth.ts';

const HIDDEN = '[redacted]';

describe('masking', () => {
  const CASES: readonly [name: string, text: string, masked: string][] = [
    ['a bearer token', 'Authorization: Bearer abc.def-1', `Authorization: ${HIDDEN} ${HIDDEN}`],
    ['credentials of a URL', 'GET https://a:b@host/path', `GET https://${HIDDEN}@host/path`],
    [
      'an @ behind the host is no credential',
      'https://host/path?mail=a@b.example',
      'https://host/path?mail=a@b.example',
    ],
    ['a query parameter', '/metrics?token=abc&x=1', `/metrics?token=${HIDDEN}&x=1`],
    ['a JSON field', '{"password":"a b","x":1}', `{"password":${HIDDEN},"x":1}`],
    ['a YAML field', 'client-key-data: abc\nnext: 1', `client-key-data: ${HIDDEN}\nnext: 1`],
    ['a quoted value with blanks', "secret = 'a b' rest", `secret = ${HIDDEN} rest`],
    ['a password of an environment', 'DB_PASS=hunter2 MYSQL_PASS: x', `DB_PASS=${HIDDEN} MYSQL_PASS: ${HIDDEN}`],
    ...(
      [
        ['GitLab', 'glpat-'],
        ['GitLab runners', 'glrt-'],
        ['npm', 'npm_'],
        ['Google', 'AIza'],
        ['OpenAI', 'sk-'],
        ['OpenAI projects', 'sk-proj-'],
        ['Stripe', 'sk_live_'],
        ['Hugging Face', 'hf_'],
        ['Vault', 'hvs.'],
        ['temporary AWS keys', 'ASIA'],
      ] as const
    ).map(([of, prefix]): [string, string, string] => [
      `a token of ${of}`,
      `x ${prefix}${'A1B2C3D4'.repeat(6).slice(0, prefix === 'ASIA' ? 16 : 48)} y`,
      `x ${HIDDEN} y`,
    ]),
    ['a bootstrap token', 'abcdef.0123456789abcdef', HIDDEN],
  ];
  for (const [name, text, masked] of CASES) {
    it(name, () => {
      expect(maskText(text)).to.equal(masked);
    });
  }

  const KEPT: readonly string[] = [
    'Deployment extension/webhook: 1 of 2 ready, 1 updated',
    'image registry.example/extensions/x@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
    'sha256 AB:CD:EF valid until 2026-12-20T00:00:00.000Z',
    'Lease x/flow-controller-5d8f7c9b4-x2x7z_de639915-7a31-4fa4-887a-cee32520485c renewed 2 seconds ago',
    '{"level":"info","message":"settings written","namespace":"shop","service":"web","reason":"Enabled"}',
    'the caBundle of webhook endpoint-slice-hints.topology.extensions.gardener.cloud ends in 6 days',
    'ask-for-routing-by-zone-in-words, npm_config and task-0123456789abcdef0123456789 passed: 3 of 3',
    '10.1.0.1:10250 and 2001:db8::1, eu-1a, v1.36.3+vendor.1, 100m',
    'system:serviceaccount:extension-topology:settings-reconciler',
  ];
  for (const text of KEPT) {
    it(`keeps: ${text.slice(0, 60)}`, () => {
      expect(maskText(text)).to.equal(text);
    });
  }

  for (const [name, { text, needles }] of Object.entries(SECRETS_TO_PLANT)) {
    it(`finds ${name} in the middle of any text`, () => {
      const line = fc.stringMatching(/^[\w ,:./[\](){}=-]{0,40}$/);
      fc.assert(
        fc.property(line, line, (before, after) => {
          const masked = maskText(`${before}\n${text}\n${after}`);
          for (const needle of needles) if (masked.includes(needle)) return false;
          return true;
        }),
        { numRuns: upTo(200) },
      );
    });
  }

  it('once more changes nothing', () => {
    for (const { text } of Object.values(SECRETS_TO_PLANT)) expect(maskText(maskText(text))).to.equal(maskText(text));
  });

  it('is done soon with long words, whatever they look like', () => {
    for (const word of ['a', 'token', 'eyJ', '-----BEGIN PRIVATE KEY-----', 'https://', '"', '\\"', 'a:', 'x@']) {
      const text = word.repeat(Math.ceil(200_000 / word.length));
      expect(maskText(text).length, word).to.be.at.most(text.length * 4);
    }
  });

  it('masks values by their names, and keeps what selectors call a key', () => {
    expect(
      maskValue({ token: 'a', nested: [{ clientSecret: { deep: 1 } }], key: 'zone', count: 3, none: null, yes: true }),
    ).to.deep.equal({
      token: HIDDEN,
      nested: [{ clientSecret: HIDDEN }],
      key: 'zone',
      count: 3,
      none: null,
      yes: true,
    });
  });
});
