// Watches of the client against a real HTTP/2 server on loopback: how they begin, go on and end.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { NODES } from '../../pkg/apis/resources.ts';
import { ConnectionError } from '../../pkg/kubernetes/errors.ts';
import { eventually } from '../fixtures/eventually.ts';
import { createFakeClock } from '../fixtures/fake-clock.ts';
import { addedEvent, follow, useWireClient } from '../fixtures/wire-client.ts';

describe('a watch over HTTP/2', () => {
  const wire = useWireClient();

  it('says when it is open, before any event', async () => {
    let opened = 0;
    const watch = follow(wire.client.watch(NODES, { onOpen: () => void (opened += 1) }, wire.stop.signal));
    await eventually(
      () => opened === 1,
      () => 'onOpen was not called',
    );
    expect(watch.names).to.deep.equal([]);
    wire.stop.abort();
    await watch.done;
  });

  it('yields events as they come, cut anywhere', async () => {
    const bytes = Buffer.from(addedEvent('zürich-🌍') + addedEvent('b'));
    wire.answerWatch = (response) => {
      let sent = 0;
      // One byte at a time, each in a frame of its own.
      const next = (): void => {
        if (sent === bytes.length) return void response.end();
        sent += 1;
        response.write(bytes.subarray(sent - 1, sent), () => setImmediate(next));
      };
      next();
    };
    const watch = follow(wire.client.watch(NODES, {}, wire.stop.signal));
    await watch.done;
    expect(watch).to.deep.include({ names: ['zürich-🌍', 'b'], error: undefined });
  });

  it('asks for five to ten minutes, with bookmarks, from the version given', async () => {
    await wire.client.close();
    wire.make({ random: () => 0.5 });
    wire.answerWatch = (response) => response.end();
    await follow(wire.client.watch(NODES, { resourceVersion: '7', labelSelector: 'a=b' }, wire.stop.signal)).done;
    expect(wire.seen.map(({ url }) => url)).to.deep.equal([
      '/api/v1/nodes?watch=1&labelSelector=a%3Db&resourceVersion=7&allowWatchBookmarks=true&timeoutSeconds=450',
    ]);
  });

  it('closes its stream at once when aborted, and keeps the connection', async () => {
    wire.answerWatch = (response) => response.write(addedEvent('a'));
    const watch = follow(wire.client.watch(NODES, {}, wire.stop.signal));
    await eventually(
      () => watch.names.length === 1,
      () => 'no event',
    );
    const reason = new Error('stop');
    wire.stop.abort(reason);
    await watch.done;
    expect(watch.error).to.equal(reason);
    await eventually(
      () => wire.server.openAnswers === 0,
      () => 'the stream is still open',
    );
    expect(wire.server.connections).to.equal(1);
  });

  it('closes its stream when its reader stops', async () => {
    wire.answerWatch = (response) => response.write(addedEvent('a'));
    for await (const got of wire.client.watch(NODES, {}, wire.stop.signal)) {
      expect(got.type).to.equal('ADDED');
      break;
    }
    await eventually(
      () => wire.server.openAnswers === 0,
      () => 'the stream is still open',
    );
  });

  it('that is cut throws Cut', async () => {
    wire.answerWatch = (response) => response.write(addedEvent('a'));
    const watch = follow(wire.client.watch(NODES, {}, wire.stop.signal));
    await eventually(
      () => watch.names.length === 1,
      () => 'no event',
    );
    wire.server.reset();
    await watch.done;
    expect(watch.error).to.be.instanceOf(ConnectionError).and.include({ reason: 'Cut' });
    expect(await wire.client.raw('/version'), 'the next request connects anew').to.deep.equal({ ok: true });
  });

  it('that ends inside an event throws Cut', async () => {
    wire.answerWatch = (response) => response.end(addedEvent('a') + addedEvent('b').slice(0, 20));
    const watch = follow(wire.client.watch(NODES, {}, wire.stop.signal));
    await watch.done;
    expect(watch.names).to.deep.equal(['a']);
    expect(watch.error).to.be.instanceOf(ConnectionError).and.include({ reason: 'Cut' });
  });

  it('that the server forgets to end throws Timeout 15 s later', async () => {
    const clock = createFakeClock();
    await wire.client.close();
    wire.make({ clock });
    let opened = false;
    const watch = follow(
      wire.client.watch(NODES, { timeoutSeconds: 5, onOpen: () => void (opened = true) }, wire.stop.signal),
    );
    await eventually(
      () => opened,
      () => 'not open',
    );
    await clock.advance(19_999);
    expect(watch.error).to.equal(undefined);
    await clock.advance(1);
    await watch.done;
    expect(watch.error).to.be.instanceOf(ConnectionError).and.include({ reason: 'Timeout' });
  });

  it('on a connection that answers no ping throws Cut after 45 s', async () => {
    const clock = createFakeClock();
    await wire.client.close();
    wire.make({ clock });
    let opened = false;
    const watch = follow(
      wire.client.watch(NODES, { timeoutSeconds: 600, onOpen: () => void (opened = true) }, wire.stop.signal),
    );
    await eventually(
      () => opened,
      () => 'not open',
    );
    // No time passes for undici, so it sends no ping; to the guard that looks like a peer that answers none.
    await clock.advance(60_000);
    await watch.done;
    expect(watch.error).to.be.instanceOf(ConnectionError).and.include({ reason: 'Cut' });
    expect((watch.error as Error).message).to.contain('does not answer pings');
  });
});
