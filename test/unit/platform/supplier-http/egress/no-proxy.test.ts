import { NoProxy } from '../../../../../src/platform/supplier-http/egress/no-proxy';

/**
 * Table of curl's own test (https://github.com/curl/curl/blob/curl-8_0_0/tests/unit/unit1614.c) and further cases. All
 * match curl 7.88.1 (`curl -x http://127.0.0.1:1 --noproxy LIST http://HOST/`) except `[::1]`, which its command line
 * parses as a name.
 */
const curlCases: [host: string, list: string, isListed: boolean][] = [
  ['www.example.com', 'localhost,.example.com,.example.de', true],
  ['www.example.com.', 'localhost,.example.com,.example.de', true],
  ['example.com', 'localhost,.example.com,.example.de', true],
  ['example.com.', 'localhost,.example.com,.example.de', true],
  ['www.example.com', 'localhost,.example.com.,.example.de', true],
  ['www.example.com', 'localhost,www.example.com.,.example.de', true],
  ['example.com', 'localhost,example.com,.example.de', true],
  ['example.com.', 'localhost,example.com,.example.de', true],
  ['www.example.com', 'localhost,example.com,.example.de', true],
  ['127.0.0.1', '127.0.0.1,localhost', true],
  ['127.0.0.1', '127.0.0.1,localhost,', true],
  ['127.0.0.1', '127.0.0.1/8,localhost,', true],
  ['127.0.0.1', '127.0.0.1/28,localhost,', true],
  ['127.0.0.1', '127.0.0.1/31,localhost,', true],
  ['127.0.0.1', 'localhost,127.0.0.1', true],
  ['127.0.0.1', `localhost,${'127.0.0.1.'.repeat(12)}127.0.0.`, false],
  ['127.0.0.1', `localhost,${'127.0.0.1.'.repeat(12)}127.0.0`, false],
  ['localhost', 'localhost,127.0.0.1', true],
  ['localhost', '127.0.0.1,localhost', true],
  ['foobar', 'barfoo', false],
  ['foobar', 'foobar', true],
  ['192.168.0.1', 'foobar', false],
  ['192.168.0.1', '192.168.0.0/16', true],
  ['192.168.0.1', '192.168.0.0/24', true],
  ['192.168.0.1', '192.168.0.0/32', false],
  ['192.168.0.1', '192.168.0.0', false],
  ['192.168.1.1', '192.168.0.0/24', false],
  ['192.168.1.1', 'foo, bar, 192.168.0.0/24', false],
  ['192.168.1.1', 'foo, bar, 192.168.0.0/16', true],
  ['[::1]', 'foo, bar, 192.168.0.0/16', false],
  ['[::1]', 'foo, bar, ::1/64', true],
  ['bar', 'foo, bar, ::1/64', true],
  ['BAr', 'foo, bar, ::1/64', true],
  ['BAr', 'foo,,,,,              bar, ::1/64', true],
  ['www.example.com', 'foo, .example.com', true],
  ['www.example.com', 'www2.example.com, .example.net', false],
  ['example.com', '.example.com, .example.net', true],
  ['nonexample.com', '.example.com, .example.net', false],
  ['example.com', '*', true],
  ['10.0.0.1', '*', true],
  ['example.com', '', false],
  ['127.0.0.1', '0.0.1', false],
];

test.each(curlCases)('matches curl for %s with %j: %s', (host, list, isListed) => {
  expect(new NoProxy(list).has(host, 443)).toBe(isListed);
});

/** Features that curl lacks: ports and wildcards as in Go, and a prefix length of zero for everything. */
const extraCases: [host: string, port: number, list: string, isListed: boolean][] = [
  ['example.com', 443, 'example.com:443', true],
  ['example.com', 8443, 'example.com:443', false],
  ['10.1.2.3', 8000, '10.0.0.0/8:8000', true],
  ['10.1.2.3', 8001, '10.0.0.0/8:8000', false],
  ['[fd00::5]', 443, '[fd00::/8]:443', true],
  ['[fd00::5]', 443, '[fd00:0:0::5]', true],
  ['[fd00::5]', 80, '[fd00::5]:443', false],
  ['www.example.com', 443, '*.example.com', true],
  ['example.org', 443, 'example.com,*', true],
  ['10.1.2.3', 443, '0.0.0.0/0', true],
  ['example.com', 443, 'a.b example.com', true],
];

test.each(extraCases)('%s:%d with %j is matched: %s', (host, port, list, isListed) => {
  expect(new NoProxy(list).has(host, port)).toBe(isListed);
});

test('invalid entries are reported', () => {
  expect(new NoProxy('10.0.0.0/33,http://example.com,fine.example,1.2.3.4/a,ex^ample,*').unreadable).toEqual([
    '10.0.0.0/33',
    'http://example.com',
    '1.2.3.4/a',
    'ex^ample',
  ]);
});
