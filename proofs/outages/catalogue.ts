import type { DialectName } from '../failover/dialects';
import type { Shot } from './load';

interface OutageSupplierUrls {
  readonly steady: string;
  readonly slow: string;
}

/** Models: one per dialect, and two next to the slow one: at its own supplier and at another. */
export const models = { chat: 'chatty', messages: 'messenger', responses: 'chatty' } as const;
export const SLOW = 'slow';
export const NEIGHBOUR = 'neighbour';
/** For responses too large for any buffer on the way. */
export const ENDLESS = 'endless';

/** JSON is valid YAML. */
export function catalogueOf({ steady, slow }: OutageSupplierUrls): string {
  const provider = (style: string, url: string): object => ({
    style,
    base_url: url,
    regions: ['here'],
    api_key: '${SUPPLIER_KEY}',
    ...(style === 'openai-style' ? { settings: { profile: 'openai' } } : {}),
  });
  const model = (name: string, provider = name): object => ({
    max_output_tokens: 4_000,
    price: { input: 1, output: 2 },
    lanes: [{ provider, model: `sim-${name}`, region: 'here' }],
  });
  return JSON.stringify({
    version: 1,
    providers: {
      chatty: provider('openai-style', steady),
      messenger: provider('messages-style', steady),
      [SLOW]: provider('openai-style', slow),
      [NEIGHBOUR]: provider('openai-style', slow),
    },
    models: {
      chatty: model('chatty'),
      messenger: model('messenger'),
      [SLOW]: model(SLOW),
      [NEIGHBOUR]: model(NEIGHBOUR),
      // Cheap, so that hundreds of concurrent requests hold a negligible amount.
      [ENDLESS]: {
        ...model(ENDLESS, 'chatty'),
        max_output_tokens: 100_000,
        price: { input: 0.01, output: 0.01 },
      },
    },
  });
}

export const dialects: readonly DialectName[] = ['chat', 'messages', 'responses'];

/** Alternates dialects, streaming and non-streaming. */
export const mixedShot = (index: number, directives = '[[tokens=20]]'): Shot => {
  const dialect = dialects[index % dialects.length]!;
  const stream = index % 2 === 0;
  return { dialect, model: models[dialect], stream, prompt: `Question ${index} ${directives}` };
};

/** A stream that takes about this long. */
export const longStreamShot = (index: number, seconds: number): Shot => {
  const TOKEN_INTERVAL_MS = 100;
  const words = Math.max(1, Math.round((seconds * 1_000) / TOKEN_INTERVAL_MS));
  return { ...mixedShot(2 * index, `[[tokens=${words}]][[pace=${TOKEN_INTERVAL_MS}]]`), stream: true };
};

export const plainShot = (model: string, index: number): Shot => ({
  dialect: 'chat',
  model,
  stream: false,
  prompt: `Question ${index} [[tokens=20]]`,
});
