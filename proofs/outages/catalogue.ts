import type { DialectName } from '../failover/dialects';
import type { Shot } from './load';

interface Addresses {
  readonly steady: string;
  readonly slow: string;
}

/** One model a dialect; two beside the slow one, at its own supplier and elsewhere. */
export const models = { chat: 'chatty', messages: 'messenger', responses: 'chatty' } as const;
export const SLOW = 'slow';
export const NEIGHBOUR = 'neighbour';
/** For answers that no buffer on their way can hold. */
export const ENDLESS = 'endless';

/** JSON is YAML. */
export function catalogueOf({ steady, slow }: Addresses): string {
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
      // Cheap, so that hundreds of them at once hold nothing worth speaking of.
      [ENDLESS]: {
        ...model(ENDLESS, 'chatty'),
        max_output_tokens: 100_000,
        price: { input: 0.01, output: 0.01 },
      },
    },
  });
}

export const dialects: readonly DialectName[] = ['chat', 'messages', 'responses'];

/** Every dialect in turn, streamed and whole. */
export const mixed = (place: number, directives = '[[tokens=20]]'): Shot => {
  const dialect = dialects[place % dialects.length]!;
  const stream = place % 2 === 0;
  return { dialect, model: models[dialect], stream, prompt: `Question ${place} ${directives}` };
};

/** An answer that takes about so long to be said. */
export const longStream = (place: number, seconds: number): Shot => {
  const PACE_MS = 100;
  const words = Math.max(1, Math.round((seconds * 1_000) / PACE_MS));
  return { ...mixed(2 * place, `[[tokens=${words}]][[pace=${PACE_MS}]]`), stream: true };
};

export const plain = (model: string, place: number): Shot => ({
  dialect: 'chat',
  model,
  stream: false,
  prompt: `Question ${place} [[tokens=20]]`,
});
