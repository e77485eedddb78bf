import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Service } from '../../../../pkg/apis/core.ts';
import { STRATEGIES } from '../../../../pkg/apis/names.ts';
import { acceptsSettingsOf, carriedVersion } from '../../../../pkg/controllers/settings/version.ts';
import { ApiError } from '../../../../pkg/kubernetes/errors.ts';
import type { Client, WriteOptions } from '../../../../pkg/kubernetes/types.ts';
import {
  mechanismOf,
  planSettings,
  routingSettings,
  strategySettings,
  withOldProxies,
} from '../../../../pkg/routing/plan.ts';
import type { RoutingSettings } from '../../../../pkg/routing/types.ts';
import { service } from '../../../fixtures/core.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';

const v = (minor: number) => ({ major: 1, minor });

/** A Service as the reconciler leaves it. */
const settled = (want: RoutingSettings, object: Service = service()): Service => {
  const plan = planSettings({ object, want });
  if (plan.kind === 'unchanged') throw new Error('nothing was planned');
  const { metadata, spec } = plan.patch as Service;
  return service({ metadata: metadata ?? {}, spec: spec ?? {} });
};

describe('carriedVersion', () => {
  const newest: Record<number, number | undefined> = { 24: 26, 26: 26, 27: 30, 30: 30, 31: 31, 32: 33, 33: 33 };
  for (let minor = 24; minor <= 36; minor += 1) {
    it(`of settings written on 1.${minor} is the newest version with the same mechanism`, () => {
      const found = carriedVersion([settled(routingSettings(v(minor)))]);
      if (minor >= 34) expect(found).to.equal(undefined);
      else expect(mechanismOf(found!)).to.equal(mechanismOf(v(minor)));
      if (minor in newest) expect(found?.minor).to.equal(newest[minor]);
    });

    for (const strategy of STRATEGIES) {
      it(`never claims less than 1.${minor} for the strategy ${strategy} there, with old proxies or without`, () => {
        const settings = strategySettings(v(minor), strategy);
        for (const want of [settings, withOldProxies(settings)]) {
          const found = carriedVersion([settled(want)]);
          if (found !== undefined) expect(found.minor).to.be.at.least(minor);
        }
      });
    }
  }

  it('is the newest of many: an interrupted pass goes on', () => {
    const [old, young] = [settled(routingSettings(v(30))), settled(routingSettings(v(33)))];
    expect(carriedVersion([old, young, old])).to.deep.equal(v(33));
    expect(carriedVersion([old, settled(routingSettings(v(34)))])).to.equal(undefined);
  });

  const silent: { name: string; services: Service[] }[] = [
    { name: 'there are no Services', services: [] },
    { name: 'nothing was applied', services: [service({ spec: { trafficDistribution: 'PreferClose' } })] },
    {
      name: 'the record is malformed',
      services: [service({ metadata: { annotations: { 'topology.extensions.gardener.cloud/applied': '{' } } })],
    },
  ];
  for (const { name, services } of silent) {
    it(`is unknown when ${name}`, () => expect(carriedVersion(services)).to.equal(undefined));
  }
});

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
