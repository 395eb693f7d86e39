import fc from 'fast-check';
import { RouteTable } from '../../../../src/platform/http-server';

const tableOf = (...routes: [string, string][]): RouteTable<string> => {
  const table = new RouteTable<string>();
  for (const [method, path] of routes) table.add(method, path, `${method} ${path}`);
  return table;
};

const table = tableOf(
  ['GET', '/'],
  ['GET', '/v1/things'],
  ['POST', '/v1/things'],
  ['GET', '/v1/things/:id'],
  ['GET', '/v1/things/special'],
  ['DELETE', '/v1/things/:id/parts/:part'],
  ['HEAD', '/v1/head'],
  ['GET', '/v1/head'],
);

test.each([
  ['GET', '/', 'GET /', {}],
  ['GET', '/v1/things', 'GET /v1/things', {}],
  ['POST', '/v1/things', 'POST /v1/things', {}],
  ['GET', '/v1/things/7', 'GET /v1/things/:id', { id: '7' }],
  ['GET', '/v1/things/special', 'GET /v1/things/special', {}],
  ['GET', '/v1/things/specials', 'GET /v1/things/:id', { id: 'specials' }],
  ['GET', '/v1/things/a%20b%2Fc', 'GET /v1/things/:id', { id: 'a b/c' }],
  ['GET', '/v1/things/__proto__', 'GET /v1/things/:id', { id: '__proto__' }],
  ['DELETE', '/v1/things/a/parts/b', 'DELETE /v1/things/:id/parts/:part', { id: 'a', part: 'b' }],
])('%s %s matches a route', (method, path, handler, params) => {
  expect(table.find(method, path)).toEqual({ handler, params });
});

test.each([
  ['PUT', '/v1/things'],
  ['POST', '/v1/things/special'],
  ['GET', '/v1/things/'],
  ['GET', '/v1/things//parts'],
  ['GET', '//v1/things'],
  ['GET', '/V1/things'],
  ['GET', '/v1/th%69ngs'],
  ['GET', '/v1/things/%zz'],
  ['GET', '/v1/things/%ff'],
  ['GET', '/v1'],
  ['GET', ''],
  ['GET', '*'],
  ['GET', '/constructor'],
  ['GET', '/__proto__'],
])('%s %s does not match', (method, path) => {
  expect(table.find(method, path)).toBeNull();
});

test('methods of a path are listed, with HEAD for every GET', () => {
  expect(table.methodsOf('/v1/things')).toEqual(['GET', 'HEAD', 'POST']);
  expect(table.methodsOf('/v1/head')).toEqual(['HEAD', 'GET']);
  expect(table.methodsOf('/v1/things/7/parts/8')).toEqual(['DELETE']);
  expect(table.methodsOf('/v1/nothing')).toEqual([]);
});

test('parameter position has the same name in every route', () => {
  expect(() => table.add('GET', '/v1/things/:other', 'x')).toThrow('two names: id and other');
});

test('parameter values survive encoding, and no path makes the lookup throw', () => {
  const segment = fc.string({ minLength: 1, unit: 'binary' }).filter((text) => text.isWellFormed());
  fc.assert(
    fc.property(
      segment.filter((text) => text !== 'special'),
      (text) => {
        const match = table.find('GET', `/v1/things/${encodeURIComponent(text)}`);
        // A dot is a literal here; only a URL parser would have removed it.
        expect(match?.params).toEqual({ id: text });
      },
    ),
  );
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (path) => void table.find('GET', path)));
});
