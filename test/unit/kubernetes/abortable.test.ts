// Waiting ends with the signal, whatever the thing waited for does.
import { getEventListeners } from 'node:events';
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { abortable } from '../../../pkg/kubernetes/wait.ts';
import { rejection } from '../../fixtures/eventually.ts';

describe('abortable', () => {
  let controller: AbortController;
  const reason = new Error('stop');
  beforeEach(() => {
    controller = new AbortController();
  });

  it('resolves as the promise does, and leaves no listener', async () => {
    expect(await abortable(Promise.resolve(7), controller.signal)).to.equal(7);
    expect(getEventListeners(controller.signal, 'abort')).to.have.length(0);
  });
  it('rejects as the promise does, and leaves no listener', async () => {
    const error = new Error('broken');
    expect(await rejection(abortable(Promise.reject(error), controller.signal))).to.equal(error);
    expect(getEventListeners(controller.signal, 'abort')).to.have.length(0);
  });
  it('rejects with the reason when the promise never settles', async () => {
    const waiting = rejection(abortable(new Promise(() => undefined), controller.signal));
    controller.abort(reason);
    expect(await waiting).to.equal(reason);
  });
  it('rejects at once when aborted before', async () => {
    controller.abort(reason);
    expect(await rejection(abortable(new Promise(() => undefined), controller.signal))).to.equal(reason);
  });
  it('hands over for release what comes too late', async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const released = new Promise<string>((release) => {
      abortable(promise, controller.signal, release).catch(() => undefined);
    });
    controller.abort(reason);
    resolve('late');
    expect(await released).to.equal('late');
  });
  it('swallows what fails too late', async () => {
    const { promise, reject } = Promise.withResolvers<string>();
    const waiting = rejection(abortable(promise, controller.signal));
    controller.abort(reason);
    reject(new Error('late'));
    expect(await waiting).to.equal(reason);
  });
});
