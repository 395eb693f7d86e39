import fc from 'fast-check';
import {
  type Candidate,
  type Example,
  extractFeatures,
  type Features,
  type RoutingPolicy,
  type RoutingQuery,
  wordSalt,
} from '../../../src/autorouter/engine';

export const NOW = Date.UTC(2026, 10, 1);
const salt = wordSalt('traffic of tests');

export const featuresOf = (text: string, tokens = Math.ceil(text.length / 4)): Features =>
  extractFeatures(
    {
      text,
      tokens,
      turns: 1,
      tools: 0,
      hasToolResult: false,
      hasImage: false,
      hasDocument: false,
      jsonMode: false,
      systemLength: 0,
      stream: false,
    },
    salt,
  );

export const models = ['small', 'middle', 'large'] as const;

/** Prices of 0.1, 1 and 10 USD per 1M tokens, each from a different supplier. */
export const candidates: readonly Candidate[] = models.map((model, index) => ({
  model,
  provider: `supplier-${index}`,
  inputRate: 10 ** (index + 8),
  outputRate: 10 ** (index + 8),
}));

export const policy: RoutingPolicy = {
  algorithm: 'hkb-v1',
  mode: 'on',
  dial: 5,
  level: 'organisation',
  referenceModel: 'large',
};

export const questionOf = (text: string, rest: Partial<RoutingQuery> = {}): RoutingQuery => ({
  features: featuresOf(text),
  candidates,
  policy,
  now: NOW,
  ...rest,
});

export const exampleOf = (
  id: string,
  text: string,
  scores: Readonly<Record<string, number>>,
  rest: Partial<Example> = {},
): Example => {
  const { bucket, structure, hashes, counts, counters } = featuresOf(text);
  return {
    id,
    at: NOW,
    weight: 1,
    bucket,
    structure,
    hashes,
    counts,
    tokensIn: counters.tokens,
    outcomes: Object.entries(scores).map(([model, score]) => ({ model, score, tokensOut: 200 })),
    ...rest,
  };
};

const subjects = [
  'sql join of orders',
  'borrow checker in rust',
  'flex container with css',
  'poem about seas',
  'contract without signature',
  'drug against gout',
  'integral over tangents',
  'emperor during sieges',
];

/** The small model is better than the large one at everything except Rust. */
export const taughtExamples = (count = 640): Example[] =>
  Array.from({ length: count }, (_, index) => {
    const subject = subjects[index % subjects.length] ?? '';
    const small = subject.includes('rust') ? 0.1 : 1;
    return exampleOf(`example-${index}`, `Explain the ${subject}, number ${index}`, {
      small,
      middle: 0.88,
      large: 0.9,
    });
  });

const words = fc.constantFrom(
  'sql',
  'rust',
  'poem',
  'sea',
  'table',
  'why',
  'proof',
  '42',
  'contract',
  'drug',
);
export const prompts = fc.array(words, { minLength: 1, maxLength: 12 }).map((some) => some.join(' '));

const scores = fc.dictionary(fc.constantFrom(...models), fc.double({ min: 0, max: 1, noNaN: true }), {
  minKeys: 1,
});

/** Examples of the last two months with unique ids. */
export const examples = fc
  .array(
    fc.record({
      text: prompts,
      scores,
      daysAgo: fc.double({ min: 0, max: 60, noNaN: true }),
      weight: fc.constantFrom(0.5, 1),
    }),
    { minLength: 1, maxLength: 40 },
  )
  .map((some) =>
    some.map(({ text, scores, daysAgo, weight }, index) =>
      exampleOf(`example-${index}`, text, scores, { at: NOW - daysAgo * 86_400_000, weight }),
    ),
  );
