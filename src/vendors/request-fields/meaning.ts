import type { DialectName } from '#extension';

/** A field that changes what an answer means, and so is never left out silently. */
export interface MeaningfulField {
  /** `refused`: by every lane. `served`: by lanes that are known to take the field. */
  readonly use: 'refused' | 'served';
  readonly why: string;
  /** Suppliers that check their input against the vendor's own interface take the field. */
  readonly vendorTakes?: true;
  /** Structured details of the refusal, by which clients recognise it. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** Clients repeat the request without the field after a refusal that names it. */
  readonly canRetryWithout?: true;
}

const isStructure: MeaningfulField = {
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
    // Claude Code 2.1.332 in auto mode; seen to repeat the request without the field after a 400 that names it.
    safeguards: {
      use: 'served',
      why: 'no lane that is available now reviews tool calls',
      vendorTakes: true,
      canRetryWithout: true,
    },
  },
  chat: {
    guided_choice: isStructure,
    guided_grammar: isStructure,
    guided_json: isStructure,
    guided_regex: isStructure,
    structural_tag: isStructure,
    structured_outputs: isStructure,
  },
  responses: {},
};

export const meaningOfField = (dialect: DialectName, name: string): MeaningfulField | undefined =>
  Object.hasOwn(meaning[dialect], name) ? meaning[dialect][name] : undefined;
