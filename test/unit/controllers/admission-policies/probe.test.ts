// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { EndpointSlice } from '../../../../pkg/apis/core.ts';
import { ANNOTATION_PROBE, LABEL_STRATEGY, STRATEGIES } from '../../../../pkg/apis/names.ts';
import { carrierActs } from '../../../../pkg/controllers/admission-policies/probe.ts';
import { ApiError } from '../../../../pkg/kubernetes/errors.ts';
import type { Client } from '../../../../pkg/kubernetes/types.ts';
import { slice } from '../../../fixtures/core.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';

type Patch = EndpointSlice & { endpoints: NonNullable<EndpointSlice['endpoints']> };
interface Call {
  readonly name: string;
  readonly patch: Patch;
  readonly dryRun: boolean | undefined;
}

const never = new AbortController().signal;
const refused = (status: number): ApiError => new ApiError({ method: 'PATCH', path: '/slice', status });

/** Answers as a server does on which the carrier acts for these strategies. */
const setup = (subjects: EndpointSlice[], acts: (call: Call) => boolean | ApiError) => {
  const calls: Call[] = [];
  const patch = (
    _resource: unknown,
    { name }: { name: string },
    _type: string,
    body: Patch,
    options: { dryRun?: boolean },
  ) => {
    const call: Call = { name, patch: body, dryRun: options.dryRun };
    calls.push(call);
    const answer = acts(call);
    if (answer instanceof ApiError) return Promise.reject(answer);
    const [endpoint] = body.endpoints;
    return Promise.resolve({
      ...body,
      endpoints: [answer ? { ...endpoint, hints: { forZones: [{ name: 'x' }] } } : endpoint],
    });
  };
  const client = { patch } as unknown as Pick<Client, 'patch'>;
  const run = () => carrierActs('policy', { client, subjects: () => subjects, logger: recordingLogger() }, never);
  return { calls, run };
};
const strategyIn = ({ patch }: Call): string | undefined => patch.metadata?.labels?.[LABEL_STRATEGY];

describe('the probe of an admission backend', () => {
  const subject = slice({ metadata: { name: 'one' } });

  it('is one dry run for each strategy, which the other backend ignores', async () => {
    const { calls, run } = setup([subject], () => true);
    expect(await run()).to.equal(true);
    expect(calls.map(strategyIn)).to.deep.equal([...STRATEGIES]);
    for (const { dryRun, patch } of calls) {
      expect(dryRun).to.equal(true);
      expect(patch.metadata?.annotations).to.deep.equal({ [ANNOTATION_PROBE]: 'policy' });
      expect(patch.endpoints[0]?.addresses).to.deep.equal(['192.0.2.1']);
    }
  });

  it('fails where one strategy is not carried', async () => {
    const { run } = setup([subject], (call) => strategyIn(call) !== 'load-aware');
    expect(await run()).to.equal(false);
  });

  it('is content where hints are removed, as without a planner', async () => {
    const client = {
      patch: (_resource: unknown, _ref: unknown, _type: string, body: Patch) =>
        Promise.resolve({ ...body, endpoints: body.endpoints.map(({ hints: _gone, ...rest }) => rest) }),
    } as unknown as Pick<Client, 'patch'>;
    expect(
      await carrierActs('webhook', { client, subjects: () => [subject], logger: recordingLogger() }, never),
    ).to.equal(true);
  });

  it('is content where there is no slice: nothing can be lost', async () => {
    const { calls, run } = setup([], () => false);
    expect([await run(), calls.length]).to.deep.equal([true, 0]);
  });

  it('takes the next slice where one is gone', async () => {
    const { calls, run } = setup([subject, slice({ metadata: { name: 'two' } })], ({ name }) =>
      name === 'one' ? refused(404) : true,
    );
    expect(await run()).to.equal(true);
    expect(calls.map(({ name }) => name)).to.deep.equal(['one', 'two', 'two', 'two', 'two']);
  });

  it('finds out the address type that a reduced slice does not have', async () => {
    const { addressType: _unknown, ...reduced } = subject;
    const { calls, run } = setup([reduced], ({ patch }) =>
      patch.endpoints[0]?.addresses[0] === '2001:db8::1' ? true : refused(422),
    );
    expect(await run()).to.equal(true);
    expect(calls).to.have.lengthOf(1 + STRATEGIES.length);
  });

  it('counts what refuses the dry run as not yet', async () => {
    const { run } = setup([subject], () => refused(400));
    expect(await run()).to.equal(false);
  });
});
