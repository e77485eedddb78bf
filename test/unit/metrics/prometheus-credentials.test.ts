// Tokens and certificates from files: read again when they change, and never part of a message.
import { rmSync } from 'node:fs';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import type { PrometheusSourceConfiguration } from '../../../pkg/apis/config/load-sources.ts';
import { openCredentials } from '../../../pkg/metrics/prometheus-client.ts';
import { LoadError } from '../../../pkg/metrics/types.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../fixtures/fake-clock.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import type { TemporaryFolder } from '../../fixtures/temporary-folder.ts';

describe('credentials for Prometheus', () => {
  let folder: TemporaryFolder;
  let clock: FakeClock;
  const open = (more: Partial<PrometheusSourceConfiguration>) =>
    openCredentials(
      { name: 'p', type: 'Prometheus', url: 'https://p.test', timeoutSeconds: 8, cacheSeconds: 0, ...more },
      clock,
    );

  beforeEach(() => {
    folder = temporaryFolder();
    clock = createFakeClock();
  });
  afterEach(() => folder.remove());

  it('are a token without its line break, the configured headers, and TLS material', () => {
    const credentials = open({
      bearerTokenFile: folder.write('token', 't0\n'),
      headers: { 'X-Scope-OrgID': 'tenant' },
      tls: {
        caFile: folder.write('ca', 'CA'),
        certFile: folder.write('cert', 'CERT'),
        keyFile: folder.write('key', 'KEY'),
        serverName: 'prometheus.test',
      },
    });
    expect(credentials.current()).to.deep.equal({
      headers: { 'X-Scope-OrgID': 'tenant', authorization: 'Bearer t0' },
      tls: {
        ca: Buffer.from('CA'),
        cert: Buffer.from('CERT'),
        key: Buffer.from('KEY'),
        servername: 'prometheus.test',
      },
    });
  });

  it('follow a file that changes, after ten seconds or when they were refused', async () => {
    const credentials = open({ bearerTokenFile: folder.write('token', 't0') });
    expect(credentials.current().headers).to.deep.equal({ authorization: 'Bearer t0' });
    folder.write('token', 't1');
    expect(credentials.current().headers).to.deep.equal({ authorization: 'Bearer t0' });
    await clock.advance(10_000);
    expect(credentials.current().headers).to.deep.equal({ authorization: 'Bearer t1' });
    folder.write('token', 't2');
    credentials.expire();
    expect(credentials.current().headers).to.deep.equal({ authorization: 'Bearer t2' });
  });

  it('stay what they were while a file is being replaced', async () => {
    const path = folder.write('token', 't0');
    const credentials = open({ bearerTokenFile: path });
    credentials.current();
    rmSync(path);
    await clock.advance(10_000);
    expect(credentials.current().headers).to.deep.equal({ authorization: 'Bearer t0' });
  });

  for (const { name, more, reason, message } of [
    {
      name: 'a token file that is not there',
      more: () => ({ bearerTokenFile: folder.at('none') }),
      reason: 'Forbidden',
      message: 'bearerTokenFile cannot be read: ENOENT',
    },
    {
      name: 'an empty token file',
      more: () => ({ bearerTokenFile: folder.write('token', ' \n') }),
      reason: 'Forbidden',
      message: 'bearerTokenFile holds no token',
    },
    {
      name: 'a token that would begin another header',
      more: () => ({ bearerTokenFile: folder.write('token', 'secret\r\nX-Evil: 1') }),
      reason: 'Forbidden',
      message: 'bearerTokenFile holds no token',
    },
    {
      name: 'an authority that is not there',
      more: () => ({ tls: { caFile: folder.at('none') } }),
      reason: 'Unreachable',
      message: 'tls.caFile cannot be read: ENOENT',
    },
    {
      name: 'a key that is a folder',
      more: () => ({ tls: { certFile: folder.write('cert', 'CERT'), keyFile: folder.path } }),
      reason: 'Unreachable',
      message: 'tls.keyFile cannot be read: EISDIR',
    },
  ]) {
    it(`say what is wrong with ${name}`, () => {
      const credentials = open(more());
      try {
        credentials.current();
        expect.fail('nothing was wrong');
      } catch (error) {
        if (!(error instanceof LoadError)) throw error;
        expect({ reason: error.reason, message: error.message }).to.deep.equal({ reason, message });
      }
    });
  }
});
