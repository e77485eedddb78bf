// AdmissionReviews, over TLS to the real server with its real handlers.
import { Agent } from 'node:https';
import type { JsonPatchOperation } from '../../../pkg/apis/admission.ts';
import { type Fields, isFields, parseJson } from '../../../pkg/apis/values.ts';
import { hasItemsWithin } from '../../../pkg/apis/json-items.ts';
import { MAX_BODY_BYTES, MAX_BODY_ITEMS } from '../../../pkg/webhook/body.ts';
import { HINTS_PATH } from '../../../pkg/webhook/endpoint-slice-hints.ts';
import { SETTINGS_PATH } from '../../../pkg/webhook/routing-settings.ts';
import type { Random } from '../../e2e/chaos-faults.ts';
import { WRITTEN_CASES } from '../../fixtures/admission-cases.ts';
import { FLOW_CONTROLLER, SETTINGS_RECONCILER, startAdmission } from '../../fixtures/admission-server.ts';
import type { AdmissionFixture } from '../../fixtures/admission-server.ts';
import { type Reply, call, review } from '../../fixtures/admission.ts';
import { applyJsonPatch } from '../../sandbox/patch-json.ts';
import { SETTINGS_CASES } from '../../fixtures/settings-cases.ts';
import { type Input, type Sample, type Target, must } from '../types.ts';

const slices = WRITTEN_CASES.map(({ name, by, oldObject, object }): Sample => ({
  name,
  value: review(object, {
    ...(by === 'planner' ? { userInfo: { username: FLOW_CONTROLLER } } : {}),
    ...(oldObject === undefined ? {} : { operation: 'UPDATE', oldObject }),
  }),
}));

const settings = SETTINGS_CASES.map(({ name, by, oldObject, object }): Sample => ({
  name,
  value: review(object, {
    operation: 'UPDATE',
    oldObject,
    userInfo: { username: by === 'owner' ? 'system:serviceaccount:garden:gardenlet' : SETTINGS_RECONCILER },
  }),
}));

/** All that admission may ever change. */
const OWN_PATHS: Readonly<Record<string, RegExp>> = {
  [HINTS_PATH]: /^\/endpoints\/\d+\/hints$/,
  [SETTINGS_PATH]:
    /^\/(?:metadata|spec\/etcd\/clientService)\/(?:labels|annotations)(?:\/[^/]*(?:topology|endpoint-slice-hints)[^/]*)?$|^\/spec\/(?:etcd\/clientService\/)?trafficDistribution$|^\/metadata$|^\/spec(?:\/etcd(?:\/clientService)?)?$/,
};

/** Copying recurses: what is nested deeper than a stack is cannot be patched here, only by the API server. */
const isTooDeep = (value: unknown): boolean => {
  try {
    structuredClone(value);
    return false;
  } catch {
    return true;
  }
};

const checkPatch = (patch: unknown, object: unknown, path: string): void => {
  must(typeof patch === 'string', () => 'the patch is not a string');
  const operations = JSON.parse(Buffer.from(String(patch), 'base64').toString()) as JsonPatchOperation[];
  must(Array.isArray(operations) && operations.length > 0, () => 'the patch is not a list of operations');
  for (const { op, path: at } of operations) {
    must(['add', 'replace', 'remove'].includes(op), () => `the patch has an operation ${op}`);
    must(OWN_PATHS[path]?.test(at) === true, () => `the patch touches ${at}`);
  }
  const touched = new Set(operations.map(({ path: at }) => at.split('/')[1] ?? ''));
  const apart = Object.entries(object as Fields).filter(([key]) => touched.has(key));
  if (!isTooDeep(apart)) applyJsonPatch(Object.fromEntries(apart), operations);
};

const RESPONSE_FIELDS = new Set(['uid', 'allowed', 'patch', 'patchType', 'warnings']);

const checkReview = (answer: Fields, request: Fields, path: string): void => {
  const { response } = answer;
  must(answer['apiVersion'] === 'admission.k8s.io/v1' && answer['kind'] === 'AdmissionReview', () => 'not a review');
  if (!isFields(response)) throw new Error('the answer has no response');
  const uid = typeof request['uid'] === 'string' ? request['uid'] : '';
  must(response['uid'] === uid, () => `uid ${JSON.stringify(response['uid'])} instead of ${JSON.stringify(uid)}`);
  must(response['allowed'] === true, () => 'the review is not allowed');
  const foreign = Object.keys(response).filter((key) => !RESPONSE_FIELDS.has(key));
  must(foreign.length === 0, () => `the response has fields ${foreign.join(', ')}`);
  must((response['patch'] === undefined) === (response['patchType'] === undefined), () => 'patch without patchType');
  if (response['patch'] !== undefined) checkPatch(response['patch'], request['object'], path);
  const warnings = (response['warnings'] ?? []) as readonly unknown[];
  for (const warning of warnings) {
    must(typeof warning === 'string' && /^[\x20-\x7e]{1,120}$/.test(warning), () => `warning ${String(warning)}`);
    must(!String(warning).includes('the webhook failed'), () => 'the handler threw');
  }
};

const checkStatus = (reply: Pick<Reply, 'status' | 'text'>, allowed: readonly number[]): void => {
  must(allowed.includes(reply.status), () => `status ${reply.status}, expected ${allowed.join(' or ')}`);
  const status = JSON.parse(reply.text) as Fields;
  must(status['kind'] === 'Status' && status['code'] === reply.status, () => `no Status: ${reply.text.slice(0, 200)}`);
};

/** Nothing of a body ends up in a log, and no line is longer than a screen. */
const checkLog = ({ logger }: AdmissionFixture): void => {
  const lines = logger.entries.splice(0).map((entry) => JSON.stringify(entry));
  const long = lines.find((line) => line.length > 1_500);
  must(long === undefined, () => `a log line of ${long?.length} characters: ${long?.slice(0, 300)}`);
};

const pathOf = (text: Buffer, random: Random): string => {
  const right = text.includes('"EndpointSlice"') ? HINTS_PATH : SETTINGS_PATH;
  return random.below(20) > 0 ? right : random.pick([HINTS_PATH, SETTINGS_PATH]);
};

/** What the protocol asks of the answer to a body that was posted to a path; throws a Violation otherwise. */
export const checkAnswer = (reply: Pick<Reply, 'status' | 'text'>, text: Buffer, path: string): void => {
  if (text.length > MAX_BODY_BYTES || !hasItemsWithin(MAX_BODY_ITEMS, text)) return checkStatus(reply, [413]);
  const body = parseJson(text.toString('utf8'));
  const request = isFields(body) ? body['request'] : undefined;
  if (!isFields(request)) return checkStatus(reply, [400]);
  must(reply.status === 200, () => `a review is answered with ${reply.status}`);
  checkReview(JSON.parse(reply.text) as Fields, request, path);
};

export const target: Target = {
  bytes: true,
  async open() {
    const fixture = await startAdmission();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const { port } = fixture.server;
    const run = async ({ text, random }: Input): Promise<void> => {
      const path = pathOf(text, random);
      const reply = await call({ port, ca: fixture.ca, agent, path, body: text });
      checkLog(fixture);
      checkAnswer(reply, text, path);
    };
    return {
      samples: [...slices, ...settings],
      run,
      finish() {
        const [requests, bytes] = [fixture.budget.requests(), fixture.budget.bytes()];
        must(requests === 0 && bytes === 0, () => `${requests} requests and ${bytes} bytes are held for ever`);
      },
      async close() {
        agent.destroy();
        await fixture.stop();
      },
    };
  },
};
