'use strict';
// Supplier styles based on the chat dialect, each with one method that fails in one way.
const { fail, getter, nameOf, odd, rejects } = require('./ways-to-fail.cjs');

const any = { ...fail, ...rejects, 'answers nothing': () => undefined, 'answers a number': () => 42 };

const rightCall = ({ lane, credential, body, stream }) => ({
  url: new URL(`${lane.provider.baseUrl}/chat/completions`),
  headers: { authorization: `Bearer ${credential.token}`, 'content-type': 'application/json' },
  body: JSON.stringify({ ...body.text.body, model: lane.upstreamModel, stream }),
});
const calling = (change) => (call) => ({ ...rightCall(call), ...change(call) });
const elsewhere = (address) => calling(() => ({ url: new URL(address) }));
const header = (name, value) => calling(() => ({ headers: { [name]: value } }));

const faults = {
  operations: {
    ...any,
    'knows no such wire': () => ({ chat: 'telex' }),
    'knows no such operation': () => ({ chat: 'chat', telex: 'chat' }),
    'answers what throws when it is read': () => ({ ...odd(), chat: getter('x') }),
  },
  target: any,
  prepare: {
    ...any,
    'answers an empty object': odd,
    'answers what throws when it is read': () => getter('url'),
    'leads to another port': elsewhere('http://127.0.0.1:9/v1/chat/completions'),
    'leads to another host': elsewhere('https://elsewhere.example/v1/chat/completions'),
    'leads to a file': elsewhere('file:///etc/passwd'),
    'leads nowhere': calling(() => ({ url: 'nowhere' })),
    'leads to what cannot be printed': calling(() => ({ url: odd() })),
    'names another host in a header': header('host', 'elsewhere.example'),
    'says another length': header('content-length', '1'),
    'writes a header of two lines': header('x-two', 'one\r\nx-three: lines'),
    'writes a header without a name': header('', 'x'),
    'writes a header that is a number': header('x-two', 42),
    'has a body of numbers': calling(() => ({ body: { parts: [42] } })),
    'has no body': calling(() => ({ body: undefined })),
    'dropped what is no list': calling(() => ({ dropped: 42 })),
  },
  readError: {
    ...fail,
    ...rejects,
    'answers a number': () => 42,
    'answers an unknown meaning': () => ({ kind: 'fine', message: '' }),
    'answers a meaning that cannot be printed': () => ({ kind: odd(), message: '' }),
  },
  unwrap: {
    ...any,
    'answers a text': () => 'text',
    'answers half a fault': () => ({ code: 'upstream_error' }),
  },
  unframer: { ...any, 'answers an object without methods': () => ({}) },
  push: any,
  end: { ...fail, ...rejects, 'answers a number': () => 42, 'answers half a fault': () => ({ code: 'x' }) },
};

const isStreamed = (method) => ['unframer', 'push', 'end'].includes(method);

/** Passes bytes through unchanged, with the given `push` and `end` methods. */
const unframing = ({ unframer, push, end }) => ({
  unframer: unframer ?? (() => ({ push: push ?? ((bytes) => bytes), end: end ?? (() => undefined) })),
});

function styleOf(method, fault) {
  const own = { [method]: faults[method][fault] };
  return {
    credential: 'bearer',
    needsCredential: () => true,
    operations: () => ({ chat: 'chat' }),
    fields: () => ({ validates: true, own: () => [] }),
    target: () => ({}),
    prepare: rightCall,
    readError: () => undefined,
    ...(isStreamed(method) ? unframing(own) : own),
    name: nameOf(`${method} ${fault}`),
  };
}

exports.faults = faults;
exports.default = {
  id: 'styles',
  version: '1.0.0',
  host: '^1',
  setup: () => ({
    suppliers: Object.entries(faults).flatMap(([method, ways]) =>
      Object.keys(ways).map((fault) => styleOf(method, fault)),
    ),
  }),
};
