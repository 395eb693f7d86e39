import { signRequest } from '../../../src/routing/suppliers/bedrock/sigv4';

/** The credential and the time of AWS's published test suite. */
const credential = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
};
const now = new Date('2015-08-30T12:36:00Z');
const service = { region: 'us-east-1', service: 'service', now };

const signatureOf = (headers: Record<string, string>): string =>
  headers.authorization!.split('Signature=')[1]!;

test.each([
  ['get-vanilla', 'GET', '/', '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
  ['post-vanilla', 'POST', '/', '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b'],
  [
    'get-vanilla-query-order-key-case',
    'GET',
    '/?Param2=value2&Param1=value1',
    'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  ],
])('%s of the published suite', (_name, method, path, signature) => {
  const url = new URL(path, 'https://example.amazonaws.com');
  const headers = signRequest({ method, url, headers: {}, body: '' }, credential, service);
  expect(headers['x-amz-date']).toBe('20150830T123600Z');
  expect(headers.authorization).toBe(
    'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, ' +
      `SignedHeaders=host;x-amz-date, Signature=${signature}`,
  );
});

test('the worked example of the documentation', () => {
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

describe('every part of a request is signed', () => {
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
  ])('%s', (_part, change) => {
    expect(signatureOf(signRequest({ ...request, ...change }, credential, scope))).not.toBe(signature);
  });

  test('session token, day, region and secret', () => {
    const others = [
      signRequest(request, { ...credential, sessionToken: 't' }, scope),
      signRequest(request, credential, { ...scope, now: new Date('2015-08-31T12:36:00Z') }),
      signRequest(request, credential, { ...scope, region: 'eu-west-2' }),
      signRequest(request, { ...credential, secretAccessKey: 'x' }, scope),
    ].map(signatureOf);
    expect(new Set([signature, ...others]).size).toBe(5);
  });

  test('blanks around and within the value of a header do not matter', () => {
    const blank = { ...request, headers: { 'Content-Type': '  application/json ' } };
    expect(signatureOf(signRequest(blank, credential, scope))).toBe(signature);
  });
});
