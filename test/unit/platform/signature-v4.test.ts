import { createHash } from 'node:crypto';
import { signRequest } from '../../../src/platform';

/** Credential and time of AWS's published test suite. */
const credential = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
};
const now = new Date('2015-08-30T12:36:00Z');
const service = { region: 'us-east-1', service: 'service', now };

const signatureOf = (headers: Record<string, string>): string =>
  headers.authorization!.split('Signature=')[1]!;

type SignatureVector = readonly [
  name: string,
  target: string,
  signature: string,
  headers?: Readonly<Record<string, string>>,
];

// Signing test suite of AWS (awslabs/aws-c-auth, tests/aws-signing-test-suite/v4), without cases that no URL of the
// gateway can contain: unresolved dots and multi-line header values.
const UNRESERVED = '-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const vectors: readonly SignatureVector[] = [
  ['get-vanilla', 'GET /', '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
  [
    'get-relative-normalized',
    'GET /example/..',
    '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
  ],
  ['get-slash-unnormalized', 'GET //', 'c88bcd3d312d75078c0cd961d6deae3f4c754924b01669efcfcb439fd5e5b76e'],
  [
    'get-slashes-unnormalized',
    'GET //example//',
    '87cca117541a147f6df867677d98a7d80dff226d2bfca9e4ffa899665623c7e5',
  ],
  [
    'get-space-unnormalized',
    'GET /example space/',
    '652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741',
  ],
  [
    'get-unreserved',
    `GET /${UNRESERVED}`,
    '07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f',
  ],
  ['get-utf8', 'GET /ሴ', '8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85'],
  [
    'get-vanilla-empty-query-key',
    'GET /?Param1=value1',
    'a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb',
  ],
  [
    'get-vanilla-query-order-encoded',
    'GET /?Param-3=Value3&Param=Value2&%E1%88%B4=Value1',
    '371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac',
  ],
  [
    'get-vanilla-query-order-key-case',
    'GET /?Param2=value2&Param1=value1',
    'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  ],
  [
    'get-vanilla-query-unreserved',
    `GET /?${UNRESERVED}=${UNRESERVED}`,
    '9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197',
  ],
  [
    'get-vanilla-utf8-query',
    'GET /?ሴ=bar',
    '2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04',
  ],
  [
    'get-header-key-duplicate',
    'GET /',
    'c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea',
    { 'My-Header1': 'value2,value2,value1' },
  ],
  [
    'get-header-value-order',
    'GET /',
    '08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01',
    { 'My-Header1': 'value4,value1,value3,value2' },
  ],
  [
    'get-header-value-trim',
    'GET /',
    'acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736',
    { 'My-Header1': ' value1', 'My-Header2': ' "a   b   c"' },
  ],
  ['post-vanilla', 'POST /', '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b'],
  [
    'post-vanilla-query',
    'POST /?Param1=value1',
    '28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11',
  ],
  [
    'post-header-key-sort',
    'POST /',
    'c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c',
    { 'My-Header1': 'value1' },
  ],
  [
    'post-header-value-case',
    'POST /',
    'cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d',
    { 'My-Header1': 'VALUE1' },
  ],
];

test.each(vectors.map((vector) => ({ vector })))(
  '$vector.0 of the published suite is signed as expected',
  ({ vector }) => {
    const [, target, signature, extraHeaders = {}] = vector;
    const [method = '', path = ''] = target.split(/ (.*)/s);
    const url = new URL(`https://example.amazonaws.com${path}`);
    const scope = { ...service, path: 'as-it-stands' } as const;
    const headers = signRequest({ method, url, headers: extraHeaders, body: '' }, credential, scope);
    expect(headers['x-amz-date']).toBe('20150830T123600Z');
    expect(headers.authorization).toContain(
      'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;',
    );
    expect(signatureOf(headers)).toBe(signature);
  },
);

test.each([
  ['application/x-www-form-urlencoded', 'd3875051da38690788ef43de4db0d8f280229d82040bfac253562e56c3f20e0b'],
  [
    'application/x-www-form-urlencoded; charset=utf-8',
    '328d1b9eaadca9f5818ef05e8392801e091653bafec24fcab71e7344e7f51422',
  ],
])('post-x-www-form-urlencoded of the published suite (%s) is signed as expected', (type, signature) => {
  const body = 'Param1=value1';
  const headers = {
    'Content-Type': type,
    'Content-Length': '13',
    'x-amz-content-sha256': '9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e',
  };
  const request = { method: 'POST', url: new URL('https://example.amazonaws.com/'), headers, body };
  expect(signatureOf(signRequest(request, credential, service))).toBe(signature);
});

test('get-vanilla-with-session-token of the published suite is signed as expected', () => {
  const sessionToken = '6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267';
  const request = { method: 'GET', url: new URL('https://example.amazonaws.com/'), headers: {}, body: '' };
  const headers = signRequest(request, { ...credential, sessionToken }, service);
  expect(headers['x-amz-security-token']).toBe(sessionToken);
  expect(signatureOf(headers)).toBe('07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8');
});

// Amazon S3 API Reference, "Signature Calculations for the Authorization Header", the four examples.
test.each([
  [
    'GET',
    '/test.txt',
    { Range: 'bytes=0-9' },
    '',
    'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  ],
  [
    'PUT',
    '/test%24file.text',
    { Date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' },
    'Welcome to Amazon S3.',
    '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  ],
  ['GET', '/?lifecycle', {}, '', 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543'],
  [
    'GET',
    '/?max-keys=2&prefix=J',
    {},
    '',
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  ],
] as const)(
  '%s %s of the S3 documentation is signed as expected',
  (method, path, extraHeaders, body, signature) => {
    const digest = createHash('sha256').update(body).digest('hex');
    const request = {
      method,
      url: new URL(`https://examplebucket.s3.amazonaws.com${path}`),
      headers: { ...extraHeaders, 'x-amz-content-sha256': digest },
      body,
      digest,
    };
    const key = {
      accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
      secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    };
    const scope = {
      region: 'us-east-1',
      service: 's3',
      now: new Date('2013-05-24T00:00:00Z'),
      path: 'as-it-stands',
    } as const;
    expect(signatureOf(signRequest(request, key, scope))).toBe(signature);
  },
);

test('worked example of the documentation is signed as expected', () => {
  const headers = signRequest(
    {
      method: 'GET',
      url: new URL('https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08'),
      headers: { 'Content-Type': 'application/x-www-form-urlencoded; charset=utf-8' },
      body: '',
    },
    credential,
    { region: 'us-east-1', service: 'iam', now },
  );
  expect(signatureOf(headers)).toBe('5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7');
});

describe('Signed parts of a request', () => {
  const url = new URL('https://bedrock-runtime.eu-west-1.amazonaws.com/model/a.b-v2%3A0/invoke');
  const request = { method: 'POST', url, headers: { 'content-type': 'application/json' }, body: '{}' };
  const scope = { region: 'eu-west-1', service: 'bedrock', now };
  const signature = signatureOf(signRequest(request, credential, scope));

  test.each([
    ['method', { method: 'PUT' }],
    ['path', { url: new URL('https://bedrock-runtime.eu-west-1.amazonaws.com/model/a.b-v2%3A1/invoke') }],
    ['query', { url: new URL(`${url.href}?a=b`) }],
    ['host', { url: new URL('https://bedrock-runtime.eu-west-2.amazonaws.com/model/a.b-v2%3A0/invoke') }],
    ['header', { headers: { 'content-type': 'text/plain' } }],
    ['body', { body: '{ }' }],
  ])('include %s', (_part, change) => {
    expect(signatureOf(signRequest({ ...request, ...change }, credential, scope))).not.toBe(signature);
  });

  test('include session token, day, region and secret', () => {
    const otherSignatures = [
      signRequest(request, { ...credential, sessionToken: 't' }, scope),
      signRequest(request, credential, { ...scope, now: new Date('2015-08-31T12:36:00Z') }),
      signRequest(request, credential, { ...scope, region: 'eu-west-2' }),
      signRequest(request, { ...credential, secretAccessKey: 'x' }, scope),
    ].map(signatureOf);
    expect(new Set([signature, ...otherSignatures]).size).toBe(5);
  });

  test('exclude whitespace around and within header values', () => {
    const paddedRequest = { ...request, headers: { 'Content-Type': '  application/json ' } };
    expect(signatureOf(signRequest(paddedRequest, credential, scope))).toBe(signature);
  });
});
