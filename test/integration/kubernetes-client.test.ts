// The client against a real HTTP/2 server on loopback: connections, streams, errors, and that nothing is left behind.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { NODES } from '../../pkg/apis/resources.ts';
import { ConnectionError } from '../../pkg/kubernetes/errors.ts';
import { eventually, rejection } from '../fixtures/eventually.ts';
import { createFakeClock } from '../fixtures/fake-clock.ts';
import { addedEvent, follow, useWireClient } from '../fixtures/wire-client.ts';

describe('client over HTTP/2', () => {
  const wire = useWireClient();

  it('needs one connection for ten watches and fifty requests, all begun at one time', async () => {
    const watches = Array.from({ length: 10 }, () => follow(wire.client.watch(NODES, {}, wire.stop.signal)));
    const answers = await Promise.all(Array.from({ length: 50 }, () => wire.client.raw('/version')));
    await eventually(
      () => wire.server.openAnswers === 10,
      () => `${wire.server.openAnswers} watches open`,
    );
    expect(answers).to.have.length(50);
    expect(wire.server.accepted).to.equal(1);
    wire.stop.abort();
    await Promise.all(watches.map(({ done }) => done));
  });

  it('moves on when the server asks to go away: running watches end in order, requests use a new connection', async () => {
    let finish: () => void = () => undefined;
    wire.answerWatch = (response) => {
      response.write(addedEvent('a'));
      finish = () => response.end(addedEvent('b'));
    };
    const watch = follow(wire.client.watch(NODES, {}, wire.stop.signal));
    await eventually(
      () => watch.names.length === 1,
      () => 'no event',
    );
    // The first request crosses the GOAWAY frame on the wire.
    wire.server.goAway();
    for (let count = 0; count < 5; count += 1) expect(await wire.client.raw('/version')).to.deep.equal({ ok: true });
    expect(wire.server.accepted).to.equal(2);
    finish();
    await watch.done;
    expect(watch).to.deep.include({ names: ['a', 'b'], error: undefined });
  });

  for (const [name, read] of [
    ['a request', () => wire.client.raw('/version')],
    ['a watch', () => wire.client.watch(NODES, {}, wire.stop.signal).next()],
  ] as const) {
    it(`breaks off an answer without end to ${name}, and goes on with the next`, async () => {
      const pour: typeof wire.answerWatch = (response) => {
        const piece = Buffer.alloc(256 * 1024, 'x');
        const more = (): void => void (response.stream.destroyed || response.write(piece, more));
        more();
      };
      wire.answerWatch = pour;
      wire.answerRequest = pour;
      expect(await rejection(read()))
        .to.be.instanceOf(ConnectionError)
        .and.include({ reason: 'InvalidResponse' });
      await eventually(
        () => wire.server.openAnswers === 0,
        () => `${wire.server.openAnswers} answers that the server still writes`,
      );
      wire.answerRequest = (response) => void response.end('{"ok":true}');
      expect(await wire.client.raw('/version')).to.deep.equal({ ok: true });
      expect(wire.server.accepted, 'connections').to.equal(1);
    });
  }

  it('asks again over a new connection, one for all who want it at that time, and leaves watches where they are', async () => {
    const clock = createFakeClock();
    await wire.client.close();
    wire.make({ clock });
    wire.answerRequest = (response) =>
      void response.end(JSON.stringify({ kind: 'NodeList', metadata: { resourceVersion: '1' }, items: [] }));
    let finish: () => void = () => undefined;
    wire.answerWatch = (response) => {
      response.write(addedEvent('a'));
      finish = () => response.end();
    };
    const watch = follow(wire.client.watch(NODES, {}, wire.stop.signal));
    await eventually(
      () => watch.names.length === 1,
      () => 'no event',
    );
    await clock.advance(5_000);
    await Promise.all([1, 2, 3].map(() => wire.client.list(NODES, { newConnection: true })));
    expect(wire.server.accepted, 'connections').to.equal(2);
    expect(watch.error).to.equal(undefined);
    finish();
    await watch.done;
    await eventually(
      () => wire.server.connections === 1,
      () => `${wire.server.connections} connections after the last watch on the old one ended`,
    );
  });
});
