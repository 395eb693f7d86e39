import { type CanonicalResponse } from '../../../src/protocol';
import { type Json } from './transcripts';

/** Returns a complete chat response in the shape that the strict client assembles from a stream. */
export function chatAsReceived(answer: Json): Json {
  const [{ message, finish_reason }] = answer.choices as [{ message: Json; finish_reason: string }];
  const { refusal, content, ...rest } = message;
  return {
    message: { ...rest, content: content ?? '', ...(refusal !== null && { refusal }) },
    finish_reason,
    usage: answer.usage,
  };
}

/** Returns what must be equal however a response was read: arguments as values, texts joined. */
export function comparable({ blocks, finish, stopSequence, usage }: CanonicalResponse): Json {
  const textOf = (type: string): string =>
    blocks.map((block) => (block.type !== 'tool' && block.type === type ? block.text : '')).join('');
  return {
    text: textOf('text'),
    reasoning: textOf('reasoning'),
    refusal: textOf('refusal'),
    signatures: blocks.flatMap((block) => (block.type === 'reasoning' ? (block.signature ?? []) : [])),
    calls: blocks.flatMap((block) =>
      block.type === 'tool'
        ? [{ ...block, arguments: block.custom ? block.arguments : valueOf(block.arguments) }]
        : [],
    ),
    finish,
    stopSequence,
    usage,
  };
}

function valueOf(text: string): unknown {
  return text === '' ? {} : (JSON.parse(text) as unknown);
}
