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
