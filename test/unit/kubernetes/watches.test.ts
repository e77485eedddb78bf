import { expect } from 'chai';
import { describe, it } from 'mocha';
import { createChannel } from '../../../pkg/kubernetes/watches.ts';

describe('a channel between controllers', () => {
  it('brings keys with their delay to every controller that was started, and nothing from before', () => {
    const { signal } = new AbortController();
    const channel = createChannel();
    const received: unknown[] = [];
    channel.send('early');
    channel.watch.start((...sent) => void received.push(['first', ...sent]), signal);
    channel.send('a');
    channel.watch.start((...sent) => void received.push(['second', ...sent]), signal);
    channel.send('b', 100);
    expect(received).to.deep.equal([
      ['first', 'a', undefined],
      ['first', 'b', 100],
      ['second', 'b', 100],
    ]);
  });
});
