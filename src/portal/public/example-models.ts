import type { PublicModel } from './public-models';

/** Names of models that examples ask for: real ones of this catalogue, as far as it has any. */
export interface ExampleModels {
  readonly chat: string;
  /** It is another one, for agents' main work. */
  readonly large: string;
  readonly embedding: string;
}

const UNKNOWN = 'MODEL_ID';

export function exampleModels(models: readonly PublicModel[]): ExampleModels {
  const callable = models.filter(({ state }) => state === 'active');
  const chats = callable.filter(({ kind }) => kind === 'chat');
  const withTools = chats.filter(({ hasTools }) => hasTools);
  const chat = (withTools[0] ?? chats[0])?.id ?? UNKNOWN;
  return {
    chat,
    large: withTools[1]?.id ?? chat,
    embedding: callable.find(({ kind }) => kind === 'embedding')?.id ?? UNKNOWN,
  };
}
