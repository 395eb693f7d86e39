import { type CanonicalResponse } from '../../../src/protocol';
import { type Json } from './transcripts';

/** A whole chat answer in the form in which the strict client puts a stream together. */
export function chatAsReceived(answer: Json): Json {
  const [{ message, finish_reason }] = answer.choices as [{ message: Json; finish_reason: string }];
  const { refusal, content, ...rest } = message;
  return {
    message: { ...rest, content: content ?? '', ...(refusal !== null && { refusal }) },
    finish_reason,
    usage: answer.usage,
  };
}

/** These must be the same whichever way an answer was read: arguments as values, words as one. */
export function comparable({ blocks, finish, stopSequence, usage }: CanonicalResponse): Json {
  const words = (type: string): string =>
    blocks.map((block) => (block.type !== 'tool' && block.type === type ? block.text : '')).join('');
  return {
    text: words('text'),
    reasoning: words('reasoning'),
    refusal: words('refusal'),
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
