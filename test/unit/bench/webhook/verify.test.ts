import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { ResponseFrame } from '../../../bench/webhook/http-framing.ts';
import { buildPayload, type Scenario } from '../../../bench/webhook/payload.ts';
import { verifyAnswer } from '../../../bench/webhook/verify.ts';

const payloadOf = (scenario: Scenario) => buildPayload({ endpoints: 4, scenario, variant: 2 });
const needed = payloadOf('write');
const kept = payloadOf('keep');

const frameOf = (body: unknown, status = 200): ResponseFrame => {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return { status, close: false, bodyBytes: bytes.length, body: bytes };
};

const answer = (response: Record<string, unknown>): ResponseFrame =>
  frameOf({ kind: 'AdmissionReview', response: { uid: needed.uid, allowed: true, ...response } });

const patch = (operations: unknown) => ({
  patchType: 'JSONPatch',
  patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
});

const allHints = needed.expected.endpoints!.map(({ hints }, index) => ({
  op: 'add',
  path: `/endpoints/${index}/hints`,
  value: hints,
}));

describe('bench/webhook/verify', () => {
  it('accepts a patch that writes every hint, and returns the object as stored', () => {
    expect(verifyAnswer(answer(patch(allHints)), needed, 'write')).to.deep.equal(needed.expected);
  });

  it('accepts another patch with the same result', () => {
    const whole = [{ op: 'replace', path: '/endpoints', value: needed.expected.endpoints }];
    expect(verifyAnswer(answer(patch(whole)), needed, 'write')).to.deep.equal(needed.expected);
  });

  it('accepts no patch where nothing needs changing', () => {
    expect(verifyAnswer(answer({ uid: kept.uid }), kept, 'keep')).to.deep.equal(kept.expected);
  });

  const wrong = [
    { name: 'an error status', frame: frameOf('no', 500), message: 'status 500: no' },
    { name: 'something else than a review', frame: frameOf({ kind: 'Status' }), message: 'not an AdmissionReview' },
    { name: "another request's uid", frame: answer({ uid: 'x' }), message: 'answers uid x' },
    { name: 'a refusal', frame: answer({ allowed: false }), message: 'not allowed' },
    { name: 'no patch', frame: answer({}), message: 'no patch although every endpoint needs its hints' },
    {
      name: 'a patch of another type',
      frame: answer({ ...patch(allHints), patchType: 'Merge' }),
      message: 'type Merge',
    },
    { name: 'a hint left out', frame: answer(patch(allHints.slice(1))), message: 'differs from the expected' },
    {
      name: 'a change too many',
      frame: answer(patch([...allHints, { op: 'add', path: '/metadata/labels/x', value: 'y' }])),
      message: 'differs from the expected',
    },
  ];
  for (const { name, frame, message } of wrong) {
    it(`refuses ${name}`, () => expect(() => verifyAnswer(frame, needed, 'write')).to.throw(message));
  }

  it('refuses a patch where nothing needs changing', () => {
    expect(() => verifyAnswer(answer({ uid: kept.uid, ...patch(allHints) }), kept, 'keep')).to.throw(
      'a patch although',
    );
  });
});

describe('bench/webhook/payload', () => {
  it('asks for all hints, or for none', () => {
    expect(needed.review.request.object.endpoints!.every(({ hints }) => hints === undefined)).to.equal(true);
    expect(kept.review.request.object).to.deep.equal(kept.expected);
    expect(needed.expected.endpoints!.map(({ zone, hints }) => hints?.forZones?.[0]?.name === zone)).to.deep.equal([
      true,
      true,
      true,
      true,
    ]);
  });

  it('spreads the endpoints over three zones, and distinguishes connections', () => {
    expect(new Set(needed.expected.endpoints!.map(({ zone }) => zone)).size).to.equal(3);
    expect(buildPayload({ endpoints: 4, scenario: 'write', variant: 3 }).uid).not.to.equal(needed.uid);
  });

  it('changes something: the stored slice lacks an endpoint', () => {
    const { object, oldObject } = needed.review.request as unknown as Record<
      'object' | 'oldObject',
      { endpoints: unknown[] }
    >;
    expect(oldObject.endpoints).to.deep.equal(object.endpoints.slice(0, -1));
  });
});
