// Applies a program's answer to the object it was asked about and compares the result with what it must be.
import { isDeepStrictEqual } from 'node:util';
import { applyJsonPatch, decodeJsonPatch } from '../../sandbox/patch-json.ts';
import type { ResponseFrame } from './http-framing.ts';
import type { Payload, Scenario } from './payload.ts';

interface Answer {
  kind?: unknown;
  response?: { uid?: unknown; allowed?: unknown; patchType?: unknown; patch?: unknown };
}

const decode = (frame: ResponseFrame): NonNullable<Answer['response']> => {
  const text = frame.body?.toString() ?? '';
  if (frame.status !== 200) throw new Error(`status ${frame.status}: ${text.slice(0, 300)}`);
  const answer = JSON.parse(text) as Answer;
  if (answer.kind !== 'AdmissionReview' || answer.response === undefined)
    throw new Error(`not an AdmissionReview: ${text.slice(0, 300)}`);
  return answer.response;
};

/** Throws an error that says what is wrong with the answer; returns the object as the API server would store it. */
export const verifyAnswer = (frame: ResponseFrame, payload: Payload<object>, scenario: Scenario): unknown => {
  const { uid, allowed, patchType, patch } = decode(frame);
  if (uid !== payload.uid) throw new Error(`answers uid ${String(uid)} instead of ${payload.uid}`);
  if (allowed !== true) throw new Error('the review was not allowed');
  if (patch === undefined || patch === null) {
    if (scenario === 'write') throw new Error('no patch although every endpoint needs its hints');
    return payload.review.request.object;
  }
  if (patchType !== 'JSONPatch' || typeof patch !== 'string') throw new Error(`a patch of type ${String(patchType)}`);
  if (scenario === 'keep') throw new Error('a patch although nothing needs changing');
  const operations = decodeJsonPatch(JSON.parse(Buffer.from(patch, 'base64').toString()));
  const result = applyJsonPatch(payload.review.request.object, operations);
  if (!isDeepStrictEqual(result, payload.expected)) throw new Error('the patched object differs from the expected one');
  return result;
};
