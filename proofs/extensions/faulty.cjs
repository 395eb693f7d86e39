'use strict';
// Parts that fail for requests whose tags name the fault, each in one way: `<part>.<fault>`.

const { fail, getter, leaving, odd, rejects } = require('./ways-to-fail.cjs');

const policy = {
  ...fail,
  ...rejects,
  'answers a number': () => 42,
  'answers true': () => true,
  'answers an object': odd,
  'answers a function': () => odd,
};

const fee = {
  ...fail,
  ...rejects,
  'answers a text': () => '0.1',
  'answers nothing': () => undefined,
  'answers a number a call': () => ({ perCall: 1 }),
  'answers a negative amount': () => ({ perCall: -1n }),
  'answers a huge amount': () => ({ perMillionTokens: 10n ** 40n }),
  'answers half a millionth': () => ({ share: 0.5 }),
  'answers a share that is no number': () => ({ share: NaN }),
  'answers a negative share': () => ({ share: -1 }),
  'answers a huge share': () => ({ share: 1e15 }),
  'answers what throws when it is read': () => getter('share'),
};

/** Visits are distinguished only by the path of the page. */
const visit = {
  '/dashboard/activity': fail.throws,
  '/dashboard/models': fail['throws null'],
  '/dashboard/usage': fail['throws what cannot be printed'],
  '/dashboard/request-log': rejects.rejects,
  '/dashboard/billing': () => 42,
  '/dashboard/settings/second-factor': odd,
};

const verdicts = {
  'answers nothing': () => undefined,
  'answers null': () => null,
  'answers a text': () => 'abstain',
  'answers an empty object': () => ({}),
  'answers an unknown verdict': () => ({ verdict: 'allow' }),
  'answers a verdict that is no text': () => ({ verdict: 42 }),
  'refuses without a message': () => ({ verdict: 'reject', code: 'invalid_request' }),
  'refuses with a code that there is not': () => ({ verdict: 'reject', code: 'no_such', message: 'no' }),
  'refuses with a failure of the service': () => ({
    verdict: 'reject',
    code: 'internal_error',
    message: 'no',
  }),
  'answers what throws when it is read': () => getter('verdict'),
  'answers what throws when it is awaited': () => getter('then'),
};
const waits = {
  hangs: () => new Promise(() => undefined),
  'fails after its deadline': () =>
    new Promise((_, reject) => setTimeout(() => reject(new Error('late')), 400)),
};

const request = {
  ...fail,
  ...rejects,
  ...waits,
  ...verdicts,
  'leaves promises that fail, and answers nothing': leaving(undefined),
  'rewrites without texts': () => ({ verdict: 'rewrite' }),
  'rewrites a text that there is not': () => ({ verdict: 'rewrite', texts: [{ at: 99, text: '' }] }),
  'rewrites a text to none': () => ({ verdict: 'rewrite', texts: [{ at: 0 }] }),
  'rewrites a text twice': () => ({
    verdict: 'rewrite',
    texts: [
      { at: 0, text: 'a' },
      { at: 0, text: 'b' },
    ],
  }),
  'restricts where it cannot': () => ({ verdict: 'restrict', lanes: [1] }),
};

const candidates = {
  ...fail,
  ...rejects,
  ...waits,
  ...verdicts,
  'restricts without lanes': () => ({ verdict: 'restrict' }),
  'restricts to texts': () => ({ verdict: 'restrict', lanes: ['1'] }),
  'orders by what is no number': () => ({ verdict: 'order', lanes: [NaN] }),
  'orders a million lanes': () => ({
    verdict: 'order',
    lanes: Array.from({ length: 1_000_000 }, (_, at) => at),
  }),
  'rewrites where it cannot': () => ({ verdict: 'rewrite', texts: [] }),
};

const settled = { ...fail, ...rejects, ...waits };

const span = (start, end, text) => () => [{ start, end, text }];
const answer = {
  ...fail,
  ...rejects,
  'finds nothing at all': () => undefined,
  'finds a text': () => 'all of it',
  'finds a span before the text': span(-1, 1, '*'),
  'finds a span behind the text': span(0, 1_000_000, '*'),
  'finds a span that ends before it begins': span(2, 1, '*'),
  'finds a span at no number': span(NaN, 2, '*'),
  'finds a span with a number for a text': span(0, 1, 7),
  'finds spans that overlap': () => [...span(0, 3, '*')(), ...span(1, 4, '*')()],
  'finds spans in another order': () => [...span(2, 3, '*')(), ...span(0, 1, '*')()],
};

const faults = { policy, fee, visit, request, candidates, settled, answer };

const faultOf = (part, tags) => {
  const tag = tags.find((each) => each.startsWith(`${part}.`));
  return tag === undefined ? undefined : faults[part.split('-')[0]][tag.slice(part.length + 1)];
};

const gatesOf = (onError) => {
  const gate = (stage) => ({ name: `${stage}-${onError}`, timeoutMs: 150, onError });
  const plain = ['request', 'candidates', 'settled'].map((stage) => ({
    ...gate(stage),
    // A gate is allowed to return nothing.
    [stage]: (given) => {
      const found = faultOf(gate(stage).name, given.tags);
      return found === undefined ? { verdict: 'abstain' } : found();
    },
  }));
  const masks = Object.entries(answer).map(([fault, find], at) => {
    const { name, ...others } = gate('answer');
    const applies = ({ tags }) => tags.includes(`${name}.${fault}`);
    return { ...others, name: `${name}-${at}`, answer: { longest: 16, applies, find } };
  });
  return [...plain, ...masks];
};

exports.faults = faults;
exports.default = {
  id: 'faulty',
  version: '1.0.0',
  host: '^1',
  setup: () => ({
    gates: [...gatesOf('open'), ...gatesOf('closed')],
    policies: [
      {
        name: 'policy',
        forbidsModel: ({ tags }) => {
          const found = faultOf('policy', tags);
          return found === undefined ? null : found();
        },
        forbidsVisit: ({ path }) => (Object.hasOwn(visit, path) ? visit[path]() : null),
      },
    ],
    priceComponents: [
      {
        name: 'fee',
        fee: ({ tags }) => {
          const found = faultOf('fee', tags);
          return found === undefined ? null : found();
        },
      },
    ],
  }),
};
