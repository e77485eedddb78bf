import { expect } from 'chai';
import { describe, it } from 'mocha';
import { serviceAccountUser } from '../../../pkg/installation/owner.ts';

describe('the user of a ServiceAccount', () => {
  it('is named as the API server names it', () =>
    expect(serviceAccountUser('garden', 'flow-controller')).to.equal('system:serviceaccount:garden:flow-controller'));
});
