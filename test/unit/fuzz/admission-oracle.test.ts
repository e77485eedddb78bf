// The oracle of admission answers refuses what the protocol does not allow; that it takes the rest, the fuzzing shows.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { HINTS_PATH } from '../../../pkg/webhook/endpoint-slice-hints.ts';
import { checkAnswer } from '../../fuzz/targets/admission.ts';
import { review } from '../../fixtures/admission.ts';
import { slice } from '../../fixtures/core.ts';

const BODY = review(slice());
const { uid } = BODY.request;
const HINTS = { op: 'add', path: '/endpoints/0/hints', value: { forZones: [{ name: 'eu-1a' }] } };

const answer = (response: object, more: object = {}): string =>
  JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response, ...more });
const patched = (...operations: object[]): string => {
  const patch = Buffer.from(JSON.stringify(operations)).toString('base64');
  return answer({ uid, allowed: true, patchType: 'JSONPatch', patch });
};
const status = (code: number): string => JSON.stringify({ kind: 'Status', code });

interface Case {
  readonly name: string;
  readonly text: string;
  readonly code?: number;
  readonly body?: unknown;
  readonly says: RegExp;
}

const check = ({ text, code = 200, body = BODY }: Case): void => {
  const posted = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  checkAnswer({ status: code, text }, posted, HINTS_PATH);
};

const wrong: readonly Case[] = [
  { name: 'a review that is not allowed', text: answer({ uid, allowed: false }), says: /not allowed/ },
  { name: 'the uid of another', text: answer({ uid: 'x', allowed: true }), says: /uid "x" instead/ },
  { name: 'no review', text: answer({ uid, allowed: true }, { kind: 'Status' }), says: /not a review/ },
  {
    name: 'a field that is none',
    text: answer({ uid, allowed: true, auditAnnotations: {} }),
    says: /auditAnnotations/,
  },
  { name: 'a patch without its type', text: answer({ uid, allowed: true, patch: 'W10=' }), says: /without patchType/ },
  { name: 'an empty patch', text: patched(), says: /not a list of operations/ },
  {
    name: 'a patch of the name',
    text: patched({ op: 'replace', path: '/metadata/name', value: 'x' }),
    says: /touches \/meta/,
  },
  { name: 'a test', text: patched({ ...HINTS, op: 'test' }), says: /operation test/ },
  {
    name: 'a patch that does not apply',
    text: patched({ ...HINTS, path: '/endpoints/7/hints' }),
    says: /does not apply/,
  },
  {
    name: 'settings in answer to a slice',
    text: patched({ op: 'add', path: '/spec/trafficDistribution', value: 'x' }),
    says: /touches/,
  },
  { name: 'a warning of two lines', text: answer({ uid, allowed: true, warnings: ['a\nb'] }), says: /warning/ },
  {
    name: 'a warning as long as a page',
    text: answer({ uid, allowed: true, warnings: ['x'.repeat(121)] }),
    says: /warning/,
  },
  {
    name: 'a handler that threw',
    text: answer({ uid, allowed: true, warnings: ['hints: nothing changed: the webhook failed, see its log'] }),
    says: /handler threw/,
  },
  { name: 'an error in answer to a review', code: 500, text: status(500), says: /answered with 500/ },
  { name: 'an answer to what is no review', body: '{', text: answer({ uid, allowed: true }), says: /status 200/ },
  { name: 'an error that is no Status', body: '{', code: 400, text: '{"code":400}', says: /no Status/ },
];

describe('the oracle of admission answers', () => {
  for (const one of wrong) it(`refuses ${one.name}`, () => expect(() => check(one)).to.throw(one.says));
});
