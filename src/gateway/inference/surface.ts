import type { Dialect, DialectName } from '../../protocol';
import { dialects } from '../../protocol';

/** A route of the gateway that answers with generated text, and the dialect its callers speak. */
export interface Surface {
  readonly name: DialectName;
  readonly dialect: Dialect;
  /** The fields that bound the output, the one that counts first. */
  readonly limitFields: readonly [string, ...string[]];
  /** Where the conversation is, which must not be empty. */
  readonly conversation: string;
}

export const surfaces = {
  chat: {
    name: 'chat',
    dialect: dialects.chat,
    limitFields: ['max_completion_tokens', 'max_tokens'],
    conversation: 'messages',
  },
  messages: {
    name: 'messages',
    dialect: dialects.messages,
    limitFields: ['max_tokens'],
    conversation: 'messages',
  },
  responses: {
    name: 'responses',
    dialect: dialects.responses,
    limitFields: ['max_output_tokens'],
    conversation: 'input',
  },
} as const satisfies Readonly<Record<DialectName, Surface>>;
