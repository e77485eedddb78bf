// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { acceptsSettingsOf } from '../../../../pkg/controllers/settings/trial-write.ts';
import { ApiError } from '../../../../pkg/kubernetes/errors.ts';
import type { Client, WriteOptions } from '../../../../pkg/kubernetes/types.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';

const SUBJECT = { namespace: 'a', name: 'b' };
const apiError = new ApiError({ status: 422, method: 'PATCH', path: '/x' });

const trial = async (respond: () => object, subject: typeof SUBJECT | undefined = SUBJECT, minor = 34) => {
  const calls: { patch: unknown; options: WriteOptions | undefined }[] = [];
  const patch = (_resource: unknown, _ref: unknown, _type: unknown, body: unknown, options?: WriteOptions) => {
    calls.push({ patch: body, options });
    return Promise.resolve().then(respond);
  };
  const client = { patch: patch as unknown as Client['patch'] };
  const options = { client, subject, version: { major: 1, minor }, logger: recordingLogger() };
  return { accepted: await acceptsSettingsOf(options, new AbortController().signal), calls };
};

describe('acceptsSettingsOf', () => {
  it('sends the new value as a dry run and accepts it when it comes back', async () => {
    const { accepted, calls } = await trial(() => ({ spec: { trafficDistribution: 'PreferSameZone' } }));
    expect(accepted).to.equal(true);
    expect(calls).to.deep.equal([
      { patch: { spec: { trafficDistribution: 'PreferSameZone' } }, options: { dryRun: true } },
    ]);
  });

  const refused = [
    {
      name: 'the value is refused',
      respond: () => {
        throw apiError;
      },
    },
    { name: 'the field is dropped', respond: () => ({ spec: {} }) },
    { name: 'an older value comes back', respond: () => ({ spec: { trafficDistribution: 'PreferClose' } }) },
  ];
  for (const { name, respond } of refused) {
    it(`says no when ${name}`, async () => expect((await trial(respond)).accepted).to.equal(false));
  }

  it('accepts without asking where nothing could be refused', async () => {
    const fail = () => {
      throw new Error('must not be called');
    };
    const noSubject = await acceptsSettingsOf(
      {
        client: { patch: fail },
        subject: undefined,
        version: { major: 1, minor: 34 },
        logger: recordingLogger(),
      },
      new AbortController().signal,
    );
    expect(noSubject).to.equal(true);
    expect((await trial(fail, SUBJECT, 30)).calls, 'annotations are never refused').to.deep.equal([]);
  });

  it('passes on what is no answer of the API server', async () => {
    let thrown: unknown;
    await trial(() => {
      throw new TypeError('broken');
    }).catch((error: unknown) => (thrown = error));
    expect(thrown).to.be.instanceOf(TypeError);
  });
});
