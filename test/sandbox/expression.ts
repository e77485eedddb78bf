// The part of CEL that match conditions of this project use: comparisons, &&, ||, !, in, has(), startsWith and friends.
import { isDeepStrictEqual } from 'node:util';
import { asArray, isRecord } from './object.ts';

/** An expression that does not parse, or a value that is not there; at run time the failure policy decides. */
export class ExpressionError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ExpressionError';
  }
}

/** `object`, `oldObject` (null on CREATE), `request`. */
export type Variables = Readonly<Record<string, unknown>>;
type Evaluate = (variables: Variables) => unknown;

const TOKEN =
  /\s*(?:(&&|\|\||==|!=|<=|>=|[-+!()[\].,<>?:])|([A-Za-z_]\w*)|(\d+(?:\.\d+)?)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'))/y;

interface Token {
  readonly kind: 'symbol' | 'word' | 'number' | 'string' | 'end';
  readonly text: string;
}

const unquote = (text: string): string =>
  text
    .slice(1, -1)
    .replaceAll(/\\(.)/g, (_, character: string) => ({ n: '\n', t: '\t', r: '\r' })[character] ?? character);

const tokenize = (source: string): Token[] => {
  const tokens: Token[] = [];
  const pattern = new RegExp(TOKEN);
  const text = source.trimEnd();
  while (pattern.lastIndex < text.length) {
    const at = pattern.lastIndex;
    const match = pattern.exec(text);
    if (match === null)
      throw new ExpressionError(`Syntax error: token recognition error at: '${text.slice(at, at + 10)}'`);
    const [, symbol, word, number, string] = match;
    if (symbol !== undefined) tokens.push({ kind: 'symbol', text: symbol });
    else if (word !== undefined) tokens.push({ kind: 'word', text: word });
    else if (number !== undefined) tokens.push({ kind: 'number', text: number });
    else tokens.push({ kind: 'string', text: unquote(string ?? '""') });
  }
  return [...tokens, { kind: 'end', text: '' }];
};

const bool = (value: unknown): boolean => {
  if (typeof value !== 'boolean') throw new ExpressionError('no such overload');
  return value;
};

const select = (target: unknown, field: string): unknown => {
  if (!isRecord(target)) throw new ExpressionError(`no such overload: field selection of ${field}`);
  if (!Object.hasOwn(target, field)) throw new ExpressionError(`no such key: ${field}`);
  return target[field];
};

const contains = (item: unknown, container: unknown): boolean => {
  if (Array.isArray(container)) return container.some((other) => isDeepStrictEqual(other, item));
  if (isRecord(container)) return typeof item === 'string' && Object.hasOwn(container, item);
  throw new ExpressionError('no such overload: in');
};

/** Logical operators of CEL: a decisive side wins over an error on the other. */
const logical = (left: Evaluate, right: Evaluate, decisive: boolean): Evaluate => {
  const settle = (side: Evaluate, variables: Variables): boolean | ExpressionError => {
    try {
      return bool(side(variables));
    } catch (error) {
      if (error instanceof ExpressionError) return error;
      throw error;
    }
  };
  return (variables) => {
    const first = settle(left, variables);
    if (first === decisive) return decisive;
    const second = settle(right, variables);
    if (second === decisive) return decisive;
    if (first instanceof Error) throw first;
    if (second instanceof Error) throw second;
    return !decisive;
  };
};

const compare = (operator: string, left: unknown, right: unknown): boolean => {
  const comparable =
    (typeof left === 'number' && typeof right === 'number') || (typeof left === 'string' && typeof right === 'string');
  if (!comparable) throw new ExpressionError(`no such overload: ${operator}`);
  if (operator === '<') return left < right;
  if (operator === '>') return left > right;
  return operator === '<=' ? left <= right : left >= right;
};

const RELATIONS: Readonly<Record<string, (left: unknown, right: unknown) => boolean>> = {
  '==': (left, right) => isDeepStrictEqual(left, right),
  '!=': (left, right) => !isDeepStrictEqual(left, right),
  in: contains,
  '<': (left, right) => compare('<', left, right),
  '>': (left, right) => compare('>', left, right),
  '<=': (left, right) => compare('<=', left, right),
  '>=': (left, right) => compare('>=', left, right),
};

const METHODS: Readonly<Record<string, (target: string, argument: string) => boolean>> = {
  startsWith: (target, argument) => target.startsWith(argument),
  endsWith: (target, argument) => target.endsWith(argument),
  contains: (target, argument) => target.includes(argument),
  matches: (target, argument) => new RegExp(argument, 'u').test(target),
};

const sizeOf = (value: unknown): number => {
  if (typeof value === 'string') return Array.from(value).length;
  return isRecord(value) ? Object.keys(value).length : asArray(value).length;
};

const LITERALS: Readonly<Record<string, unknown>> = { true: true, false: false, null: null };

interface Node {
  readonly evaluate: Evaluate;
  /** Set for a field selection: what has() asks about. */
  readonly selection?: { readonly target: Evaluate; readonly field: string };
}

/** Recursive descent over the tokens; one function per level of precedence. */
class Parser {
  readonly tokens: readonly Token[];
  position = 0;
  constructor(tokens: readonly Token[]) {
    this.tokens = tokens;
  }

  peek(): Token {
    return this.tokens[this.position] ?? { kind: 'end', text: '' };
  }

  /** Takes the next token if it is this symbol or word. */
  take(...texts: string[]): string | undefined {
    const { kind, text } = this.peek();
    if (kind === 'string' || kind === 'end' || !texts.includes(text)) return undefined;
    this.position += 1;
    return text;
  }

  expect(text: string): void {
    if (this.take(text) === undefined)
      throw new ExpressionError(`Syntax error: expected '${text}', found '${this.peek().text}'`);
  }

  conditional(): Node {
    const condition = this.or();
    if (this.take('?') === undefined) return condition;
    const yes = this.or();
    this.expect(':');
    const no = this.conditional();
    return { evaluate: (variables) => (bool(condition.evaluate(variables)) ? yes : no).evaluate(variables) };
  }

  or(): Node {
    let left = this.and();
    while (this.take('||') !== undefined) left = { evaluate: logical(left.evaluate, this.and().evaluate, true) };
    return left;
  }

  and(): Node {
    let left = this.relation();
    while (this.take('&&') !== undefined) left = { evaluate: logical(left.evaluate, this.relation().evaluate, false) };
    return left;
  }

  relation(): Node {
    let left = this.unary();
    for (
      let operator = this.take(...Object.keys(RELATIONS));
      operator !== undefined;
      operator = this.take(...Object.keys(RELATIONS))
    ) {
      const relate = RELATIONS[operator];
      const { evaluate: first } = left;
      const { evaluate: second } = this.unary();
      left = { evaluate: (variables) => relate?.(first(variables), second(variables)) };
    }
    return left;
  }

  unary(): Node {
    if (this.take('!') === undefined) return this.member();
    const inner = this.unary();
    return { evaluate: (variables) => !bool(inner.evaluate(variables)) };
  }

  member(): Node {
    let node = this.primary();
    for (let next = this.take('.', '['); next !== undefined; next = this.take('.', '[')) {
      const { evaluate: target } = node;
      node = next === '.' ? this.field(target) : this.index(target);
    }
    return node;
  }

  field(target: Evaluate): Node {
    const field = this.peek().text;
    this.position += 1;
    if (this.take('(') === undefined)
      return { evaluate: (variables) => select(target(variables), field), selection: { target, field } };
    if (field === 'exists' || field === 'all') return this.macro(target, field);
    const [argument] = this.arguments();
    if (field === 'size') return { evaluate: (variables) => sizeOf(target(variables)) };
    const method = Object.hasOwn(METHODS, field) ? METHODS[field] : undefined;
    if (method === undefined || argument === undefined) throw new ExpressionError(`undeclared reference to '${field}'`);
    return {
      evaluate(variables) {
        const [subject, value] = [target(variables), argument.evaluate(variables)];
        if (typeof subject !== 'string' || typeof value !== 'string')
          throw new ExpressionError(`no such overload: ${field}`);
        return method(subject, value);
      },
    };
  }

  /** `list.exists(name, condition)` and `all`: an item that decides wins over errors of others. */
  macro(target: Evaluate, name: 'exists' | 'all'): Node {
    const variable = this.peek().text;
    this.position += 1;
    this.expect(',');
    const { evaluate } = this.conditional();
    this.expect(')');
    const decisive = name === 'exists';
    return {
      evaluate(variables) {
        const items = asArray(target(variables)).map(
          (item): Evaluate =>
            () =>
              evaluate({ ...variables, [variable]: item }),
        );
        const none: Evaluate = () => !decisive;
        return items.reduce((left, right) => logical(left, right, decisive), none)(variables);
      },
    };
  }

  index(target: Evaluate): Node {
    const key = this.conditional();
    this.expect(']');
    return {
      evaluate(variables) {
        const [container, at] = [target(variables), key.evaluate(variables)];
        if (!Array.isArray(container)) return select(container, String(at));
        if (typeof at !== 'number' || at >= container.length)
          throw new ExpressionError(`index out of bounds: ${String(at)}`);
        return container[at] as unknown;
      },
    };
  }

  /** After the opening parenthesis. */
  arguments(close = ')'): Node[] {
    const list: Node[] = [];
    if (this.take(close) !== undefined) return list;
    do list.push(this.conditional());
    while (this.take(',') !== undefined);
    this.expect(close);
    return list;
  }

  primary(): Node {
    if (this.take('(') !== undefined) {
      const inner = this.conditional();
      this.expect(')');
      return { evaluate: inner.evaluate };
    }
    if (this.take('[') !== undefined) {
      const items = this.arguments(']');
      return { evaluate: (variables) => items.map((item) => item.evaluate(variables)) };
    }
    const { kind, text } = this.peek();
    this.position += 1;
    if (kind === 'string') return { evaluate: () => text };
    if (kind === 'number') return { evaluate: () => Number(text) };
    if (kind !== 'word') throw new ExpressionError(`Syntax error: mismatched input '${text}'`);
    if (Object.hasOwn(LITERALS, text)) return { evaluate: () => LITERALS[text] };
    return this.take('(') === undefined ? { evaluate: (variables) => select(variables, text) } : this.call(text);
  }

  call(name: string): Node {
    const [argument] = this.arguments();
    if (argument === undefined) throw new ExpressionError(`undeclared reference to '${name}'`);
    if (name === 'size') return { evaluate: (variables) => sizeOf(argument.evaluate(variables)) };
    const { selection } = argument;
    if (name !== 'has' || selection === undefined) throw new ExpressionError(`undeclared reference to '${name}'`);
    return {
      evaluate(variables) {
        const target = selection.target(variables);
        if (!isRecord(target)) throw new ExpressionError(`no such overload: has(${selection.field})`);
        return Object.hasOwn(target, selection.field);
      },
    };
  }
}

/** Compiles an expression that yields a boolean. Throws ExpressionError; so does the result. */
export const compileExpression = (source: string): ((variables: Variables) => boolean) => {
  const parser = new Parser(tokenize(source));
  const { evaluate } = parser.conditional();
  if (parser.peek().kind !== 'end') throw new ExpressionError(`Syntax error: extraneous input '${parser.peek().text}'`);
  return (variables) => bool(evaluate(variables));
};
