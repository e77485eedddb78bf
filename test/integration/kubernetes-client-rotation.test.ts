// Rotation of the credentials of a client that talks to a real HTTP/2 server on loopback.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { NODES } from '../../pkg/apis/resources.ts';
import { eventually } from '../fixtures/eventually.ts';
import { createTestPki } from '../fixtures/pki.ts';
import { addedEvent, follow, useWireClient } from '../fixtures/wire-client.ts';

describe('rotation of a client over HTTP/2', () => {
  const wire = useWireClient();

  it('of a client certificate opens one new connection; running watches end on the old one', async () => {
    const pki = createTestPki();
    const [first, second] = [pki.issue('client-1'), pki.issue('client-2')];
    wire.config.current = { headers: {}, tls: { ca: wire.server.ca, ...first } };
    let endWatch: () => void = () => undefined;
    wire.answerWatch = (response) => {
      response.write(addedEvent('a'));
      endWatch = () => response.end(addedEvent('b'));
    };
    const watch = follow(wire.client.watch(NODES, {}, wire.stop.signal));
    await eventually(
      () => watch.names.length === 1,
      () => 'no event',
    );

    wire.config.current = { headers: {}, tls: { ca: wire.server.ca, ...second } };
    await Promise.all(Array.from({ length: 10 }, () => wire.client.raw('/version')));
    const certificates = new Set(wire.seen.map(({ certificate }) => certificate));
    expect(certificates.size).to.equal(2);
    expect(
      new Set(wire.seen.slice(1).map(({ certificate }) => certificate)).size,
      'requests after the rotation',
    ).to.equal(1);
    expect(wire.server.accepted).to.equal(2);

    endWatch();
    await watch.done;
    expect(watch).to.deep.include({ names: ['a', 'b'], error: undefined });
    await eventually(
      () => wire.server.connections === 1,
      () => `${wire.server.connections} connections: the old one was not closed`,
    );
  });
});
