// Connections whose other end is gone are broken; living ones never are.
import { EventEmitter } from 'node:events';
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { guardConnection } from '../../../pkg/kubernetes/transport.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../fixtures/fake-clock.ts';

class FakeSocket extends EventEmitter {
  bytesRead = 100;
  destroyedWith: Error | undefined;
  destroy(error: Error): void {
    this.destroyedWith = error;
    this.emit('close');
  }
}

describe('guardConnection', () => {
  let clock: FakeClock;
  let socket: FakeSocket;
  beforeEach(() => {
    clock = createFakeClock();
    socket = new FakeSocket();
    guardConnection(socket, clock);
  });

  it('breaks a connection that was silent for 45 s', async () => {
    await clock.advance(44_999);
    expect(socket.destroyedWith).to.equal(undefined);
    await clock.advance(1);
    expect(socket.destroyedWith).to.include({
      code: 'ERR_SILENT_CONNECTION',
      message: 'the connection does not answer pings',
    });
    expect(clock.pending).to.equal(0);
  });

  it('lets live what answers a ping every 30 s', async () => {
    for (let pings = 0; pings < 20; pings += 1) {
      await clock.advance(30_000);
      socket.bytesRead += 17;
    }
    expect(socket.destroyedWith).to.equal(undefined);
  });

  it('counts anew after each byte', async () => {
    await clock.advance(30_000);
    socket.bytesRead += 1;
    await clock.advance(59_999);
    expect(socket.destroyedWith).to.equal(undefined);
    await clock.advance(1);
    expect(socket.destroyedWith).to.be.instanceOf(Error);
  });

  it('ends with the connection', () => {
    socket.emit('close');
    expect(clock.pending).to.equal(0);
  });
});
