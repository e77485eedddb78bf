// URLs and queries, literally.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ENDPOINT_SLICES, NODES, SERVICES } from '../../../pkg/apis/resources.ts';
import { collectionPath, listQuery, objectPath, watchQuery, withQuery } from '../../../pkg/kubernetes/request.ts';

describe('collectionPath', () => {
  it('puts groups under /apis, a namespace in between', () => {
    expect(collectionPath(ENDPOINT_SLICES, 'shoot--a--b')).to.equal(
      '/apis/discovery.k8s.io/v1/namespaces/shoot--a--b/endpointslices',
    );
  });
  it('encodes the namespace: it can come from a user', () => {
    expect(collectionPath(SERVICES, 'a/../../secrets?x')).to.equal(
      '/api/v1/namespaces/a%2F..%2F..%2Fsecrets%3Fx/services',
    );
  });
  it('refuses a namespace for a cluster-scoped resource', () => {
    expect(() => collectionPath(NODES, 'a')).to.throw(
      TypeError,
      'nodes is cluster-scoped, but namespace "a" was given',
    );
  });
  it('refuses an empty namespace, which would mean all', () => {
    expect(() => collectionPath(SERVICES, '')).to.throw(TypeError, 'services: the namespace is empty');
  });
});

describe('objectPath', () => {
  it('encodes names', () => {
    expect(objectPath(NODES, { name: 'system:a/b' })).to.equal('/api/v1/nodes/system%3Aa%2Fb');
  });
  it('appends the subresource', () => {
    expect(objectPath(SERVICES, { namespace: 'a', name: 'b' }, 'status')).to.equal(
      '/api/v1/namespaces/a/services/b/status',
    );
  });
  it('ignores a namespace on a cluster-scoped object, as objects read from elsewhere may carry one', () => {
    expect(objectPath(NODES, { namespace: 'a', name: 'b' })).to.equal('/api/v1/nodes/b');
  });
  it('refuses an empty name, which would address the collection', () => {
    expect(() => objectPath(SERVICES, { namespace: 'a', name: '' })).to.throw(
      TypeError,
      'services: the object has no name',
    );
  });
  it('refuses a missing namespace', () => {
    expect(() => objectPath(SERVICES, { name: 'b' })).to.throw(TypeError, 'services "b": the namespace is missing');
  });
});

describe('queries', () => {
  it('a list carries version and match', () => {
    expect(withQuery('', listQuery({ resourceVersion: '7', resourceVersionMatch: 'NotOlderThan' }))).to.equal(
      '?limit=500&resourceVersion=7&resourceVersionMatch=NotOlderThan',
    );
  });
  it('a following page carries the selectors and the token, but no version: the server refuses both together', () => {
    const query = listQuery({
      continue: 'abc',
      resourceVersion: '7',
      resourceVersionMatch: 'Exact',
      labelSelector: 'a',
      fieldSelector: 'b',
    });
    expect(withQuery('', query)).to.equal('?labelSelector=a&fieldSelector=b&limit=500&continue=abc');
  });
  it('a watch asks for bookmarks and says how long', () => {
    expect(withQuery('', watchQuery({ resourceVersion: '7' }, 301))).to.equal(
      '?watch=1&resourceVersion=7&allowWatchBookmarks=true&timeoutSeconds=301',
    );
  });
  it('a watch can do without bookmarks', () => {
    expect(watchQuery({ allowWatchBookmarks: false }, 1)).to.have.property('allowWatchBookmarks', false);
  });
});
