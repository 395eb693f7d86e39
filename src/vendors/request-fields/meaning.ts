import type { DialectName } from '#extension';

/** A field that changes the meaning of a response and is therefore never dropped silently. */
export interface MeaningfulField {
  /** `refused`: by every lane. `served`: by lanes that are known to accept the field. */
  readonly use: 'refused' | 'served';
  readonly why: string;
  /** Whether suppliers that validate against the vendor's own API accept the field. */
  readonly vendorTakes?: true;
  readonly details?: Readonly<Record<string, unknown>>;
  /** Whether clients repeat the request without the field after a refusal that names it. */
  readonly canRetryWithout?: true;
}

const structureField: MeaningfulField = {
  use: 'served',
  why: 'no lane enforces the requested structure',
};

const meaning: Readonly<Record<DialectName, Readonly<Record<string, MeaningfulField>>>> = {
  // Anthropic's public beta message-threads-2026-08-12; typings of @anthropic-ai/sdk 1.14.0.
  messages: {
    thread: {
      use: 'refused',
      why: 'the conversation would be stored in an account that several keys share; send all of it in messages',
      details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
    },
    // Claude Code 2.1.332 in auto mode; observed to repeat the request without the field after a 400 that names it.
    safeguards: {
      use: 'served',
      why: 'no lane that is available now reviews tool calls',
      vendorTakes: true,
      canRetryWithout: true,
    },
  },
  chat: {
    guided_choice: structureField,
    guided_grammar: structureField,
    guided_json: structureField,
    guided_regex: structureField,
    structural_tag: structureField,
    structured_outputs: structureField,
  },
  responses: {},
};

export const meaningOfField = (dialect: DialectName, name: string): MeaningfulField | undefined =>
  Object.hasOwn(meaning[dialect], name) ? meaning[dialect][name] : undefined;
