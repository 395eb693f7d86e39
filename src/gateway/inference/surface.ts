import type { ModelKind } from '../../catalogue';
import { type UsageReading, usageOf } from '../../kernel';
import {
  type Dialect,
  type DialectName,
  dialects,
  findEmbeddingsUsage,
  findRerankUsage,
  normaliseEmbeddingsUsage,
  normaliseRerankUsage,
  speechUsageByCharacters,
} from '../../protocol';
import type { Operation } from '../../routing';
import { tapRules } from './tap-rules';

type Body = Readonly<Record<string, unknown>>;

/** A route of the gateway that suppliers serve, and how its answers are accounted for. */
export interface Surface {
  readonly name: Operation;
  /** Which models may answer here. */
  readonly kind: ModelKind;
  /** The fields that bound the output, the one that counts first. */
  readonly limitFields: readonly string[];
  /** The field that holds what is asked, which must not be empty. */
  readonly asked: string;
  /** What suppliers insist on and callers may leave out. */
  readonly defaults?: Body;
  /** What a whole answer used: by its own report, or by what the request asked for. */
  readonly usageIn: (answer: Body | null, request: Body) => UsageReading;
}

/** Generated text: may be streamed, and is translated for suppliers of another dialect. */
export interface TextSurface extends Surface {
  readonly name: DialectName;
  readonly dialect: Dialect;
}

export const isText = (surface: Surface): surface is TextSurface => 'dialect' in surface;

const text = (name: DialectName, asked: string, ...limitFields: string[]): TextSurface => ({
  name,
  dialect: dialects[name],
  kind: 'chat',
  limitFields,
  asked,
  usageIn: (answer) => tapRules[name].normalise(tapRules[name].findUsage(answer)),
});

/** One request, one answer, in a form that all suppliers share. */
const shot = (name: Operation, kind: ModelKind, asked: string, usageIn: Surface['usageIn']): Surface => ({
  name,
  kind,
  limitFields: [],
  asked,
  usageIn,
});

const byCall = (calls: number): UsageReading => ({ kind: 'ok', usage: usageOf({ calls }) });

export const surfaces = {
  chat: text('chat', 'messages', 'max_completion_tokens', 'max_tokens'),
  messages: text('messages', 'messages', 'max_tokens'),
  responses: text('responses', 'input', 'max_output_tokens'),
  embeddings: shot('embeddings', 'embedding', 'input', (answer) =>
    normaliseEmbeddingsUsage(findEmbeddingsUsage(answer)),
  ),
  rerank: shot('rerank', 'rerank', 'documents', (answer) => {
    const reported = normaliseRerankUsage(findRerankUsage(answer));
    // Sold by the call where nothing is reported.
    return reported.kind === 'absent' ? byCall(1) : reported;
  }),
  speech: {
    ...shot('speech', 'speech', 'input', (_answer, { input }) => ({
      kind: 'ok',
      usage: speechUsageByCharacters(String(input)),
    })),
    defaults: { voice: 'alloy' },
  },
  image: shot('image', 'image', 'prompt', (answer) =>
    byCall(Array.isArray(answer?.data) ? Math.max(1, answer.data.length) : 1),
  ),
  moderation: shot('moderation', 'moderation', 'input', () => byCall(1)),
} as const;
