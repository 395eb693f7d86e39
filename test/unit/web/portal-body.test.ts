import { parseBody } from '../../../src/web/portal-body.interceptor';

const form = (text: string | Buffer): unknown =>
  parseBody(Buffer.from(text), 'application/x-www-form-urlencoded');

test.each([
  ['a=1&b=2', { a: '1', b: '2' }],
  ['a=1&a=2&a=3', { a: ['1', '2', '3'] }],
  ['a=x+y%20z%2B', { a: 'x y z+' }],
  ['a', { a: '' }],
  ['a=b=c', { a: 'b=c' }],
  ['&&a=1&', { a: '1' }],
  ['=1', { '': '1' }],
  ['', {}],
  ['a=%zz', { a: '%zz' }],
  ['a=%C3%A9&%C3%A9=1', { a: 'é', é: '1' }],
  ['a[b]=1&a.b=2', { 'a[b]': '1', 'a.b': '2' }],
  ['toString=1&constructor=2', { toString: '1', constructor: '2' }],
])('%j is parsed as expected', (text, expected) => {
  expect({ ...(form(text) as object) }).toEqual(expected);
});

test('field named like the prototype is an ordinary field, also in lists', () => {
  const value = form('__proto__=1&__proto__=2') as object;
  expect(Object.getPrototypeOf(value)).toBeNull();
  expect(Object.entries(value)).toEqual([['__proto__', ['1', '2']]]);
  expect({}).not.toHaveProperty('1');
});

test('body with more than a thousand fields is rejected', () => {
  const fields = (count: number) => Array.from({ length: count }, (_, at) => `f${at}=${at}`).join('&');
  expect(Object.keys(form(fields(1_000)) as object)).toHaveLength(1_000);
  expect(() => form(fields(1_001))).toThrow('at most 1000 fields');
});

test.each(['[1]', 'null', '1', '"text"', '{', ''])(
  'JSON that is not an object is rejected: %j',
  async (text) => {
    await expect(parseBody(Buffer.from(text), 'application/json')).rejects.toMatchObject({
      code: 'invalid_json',
    });
  },
);

test.each(['', 'text/plain', 'multipart/form-data', 'application/xml', 'application/json2'])(
  'content type %j is rejected',
  (type) => {
    expect(() => parseBody(Buffer.from('{}'), type)).toThrow('unsupported_media_type');
  },
);
