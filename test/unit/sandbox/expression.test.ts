// The sandbox's evaluator of match conditions.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { compileExpression, ExpressionError } from '../../sandbox/expression.ts';

const variables = {
  object: {
    metadata: { name: 'web-1', labels: { 'a/b': 'x', empty: '' }, annotations: { mode: 'example.com/x' } },
    endpoints: [{ addresses: ['1'] }],
    spec: { replicas: 3 },
  },
  oldObject: null,
  request: { operation: 'CREATE', userInfo: { username: 'system:serviceaccount:kube-system:x', groups: ['g1', 'g2'] } },
};

describe('compileExpression', () => {
  for (const { expression, expected } of [
    { expression: 'true', expected: true },
    { expression: '!true || false', expected: false },
    { expression: 'request.userInfo.username != "alice"', expected: true },
    { expression: "request.userInfo.username == 'alice'", expected: false },
    { expression: 'request.operation in ["CREATE", "UPDATE"]', expected: true },
    { expression: '!(request.operation in ["DELETE"])', expected: true },
    { expression: '"g2" in request.userInfo.groups', expected: true },
    { expression: 'has(object.metadata.labels) && "a/b" in object.metadata.labels', expected: true },
    { expression: 'has(object.metadata.labels) && object.metadata.labels["a/b"] == "x"', expected: true },
    { expression: 'has(object.metadata.ownerReferences)', expected: false },
    { expression: 'object.endpoints.exists(e, has(e.zone))', expected: false },
    { expression: 'object.endpoints.exists(e, "1" in e.addresses)', expected: true },
    { expression: 'request.userInfo.groups.all(g, g.startsWith("g"))', expected: true },
    {
      expression: 'has(object.metadata.ownerReferences) && object.metadata.ownerReferences.size() > 0',
      expected: false,
    },
    { expression: 'object.metadata.annotations["mode"].startsWith("example.com/")', expected: true },
    {
      expression:
        'object.metadata.name.endsWith("-1") && object.metadata.name.contains("eb") && object.metadata.name.matches("^web-[0-9]$")',
      expected: true,
    },
    { expression: 'oldObject == null || has(oldObject.metadata.labels)', expected: true },
    { expression: 'oldObject != null', expected: false },
    { expression: 'size(object.endpoints) > 0 && object.endpoints[0].addresses[0] == "1"', expected: true },
    { expression: 'object.spec.replicas >= 3 && object.spec.replicas < 4', expected: true },
    { expression: 'false && true || true', expected: true },
    { expression: 'true || false && false', expected: true },
    { expression: 'object.spec.replicas == 3 ? "a" == "a" : false', expected: true },
    { expression: '"say \\"hi\\"" == "say \\"hi\\""', expected: true },
  ]) {
    it(`${expression} is ${expected}`, () => expect(compileExpression(expression)(variables)).to.equal(expected));
  }

  describe('a decisive side wins over an error on the other', () => {
    for (const { expression, expected } of [
      { expression: 'object.metadata.labels["none"] == "x" || true', expected: true },
      { expression: 'true || object.metadata.labels["none"] == "x"', expected: true },
      { expression: 'object.metadata.labels["none"] == "x" && false', expected: false },
    ]) {
      it(expression, () => expect(compileExpression(expression)(variables)).to.equal(expected));
    }
  });

  for (const { expression, message } of [
    { expression: 'object.metadata.labels["none"] == "x"', message: 'no such key: none' },
    { expression: 'object.none.deep == 1', message: 'no such key: none' },
    { expression: 'oldObject.metadata.name == "x"', message: 'no such overload' },
    { expression: 'object.metadata.name', message: 'no such overload' },
    { expression: 'nothing == 1', message: 'no such key: nothing' },
    { expression: 'object.endpoints[5] == 1', message: 'index out of bounds: 5' },
    { expression: 'object.metadata.labels["none"] == "x" && true', message: 'no such key: none' },
    { expression: '"a" < 1', message: 'no such overload' },
  ]) {
    it(`fails at run time: ${expression}`, () => {
      const evaluate = compileExpression(expression);
      expect(() => evaluate(variables)).to.throw(ExpressionError, message);
    });
  }

  for (const expression of [
    '',
    'a ==',
    '(true',
    'true true',
    'object.x.unknown("a")',
    'foo(1)',
    'has(object)',
    '#',
    '"open',
  ]) {
    it(`does not compile ${JSON.stringify(expression)}`, () => {
      expect(() => compileExpression(expression)).to.throw(ExpressionError);
    });
  }
});
