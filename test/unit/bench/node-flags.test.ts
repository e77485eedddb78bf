// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { NODE_FLAGS } from '../../bench/node-flags.ts';

const template = resolve(
  import.meta.dirname,
  '../../../charts/gardener-extension-topology-aware-routing/templates/endpointslice-webhook/deployment.yaml',
);

describe('bench/node-flags', () => {
  it('the webhook is measured with the flags that the chart starts it with', () => {
    const options = /name: NODE_OPTIONS\n\s*value: (.*)/.exec(readFileSync(template, 'utf8'))?.[1];
    expect(options?.split(' ')).to.deep.equal(NODE_FLAGS);
  });
});
