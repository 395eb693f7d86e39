import type { PublicModel } from './public-models';

/** Model names for examples; taken from the catalogue if possible. */
export interface ExampleModels {
  readonly chat: string;
  /** Model for the main work of agents. */
  readonly large: string;
  readonly embedding: string;
}

const PLACEHOLDER = 'MODEL_ID';

export function exampleModels(models: readonly PublicModel[]): ExampleModels {
  const callable = models.filter(({ state }) => state === 'active');
  const chats = callable.filter(({ kind }) => kind === 'chat');
  const withTools = chats.filter(({ hasTools }) => hasTools);
  const chat = (withTools[0] ?? chats[0])?.id ?? PLACEHOLDER;
  return {
    chat,
    large: withTools[1]?.id ?? chat,
    embedding: callable.find(({ kind }) => kind === 'embedding')?.id ?? PLACEHOLDER,
  };
}
