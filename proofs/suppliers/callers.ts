import type { SupplierWire } from './recordings';
import { NATIVE } from './testbed';

/** A client dialect and the supplier formats that it is tested with. */
export interface SupplierCaller {
  readonly name: string;
  readonly path: string;
  readonly wires: readonly SupplierWire[];
  readonly body: object;
  /** Model name if it differs from that of the format. */
  readonly model?: string;
  /** Only streaming requests. */
  readonly streams?: true;
  /** The request is a form with a recording. */
  readonly sound?: true;
}

const messages = [{ role: 'user', content: 'Hello' }];
const CONVERTED_WIRES: readonly SupplierWire[] = ['chat', 'messages', 'gemini', 'bedrock'];
export const callers: readonly SupplierCaller[] = [
  {
    name: 'chat',
    path: '/v1/chat/completions',
    wires: CONVERTED_WIRES,
    body: { messages, max_tokens: 500, stream_options: { include_usage: true } },
  },
  { name: 'messages', path: '/v1/messages', wires: CONVERTED_WIRES, body: { messages, max_tokens: 500 } },
  {
    name: 'responses',
    path: '/v1/responses',
    wires: ['responses', 'messages', 'gemini', 'bedrock'],
    body: { input: 'Hello', max_output_tokens: 500, store: false },
  },
  {
    name: 'chat, two choices',
    path: '/v1/chat/completions',
    wires: ['choices'],
    body: { messages, n: 2, max_tokens: 500, stream_options: { include_usage: true } },
  },
  { name: 'embeddings', path: '/v1/embeddings', wires: ['embeddings'], body: { input: 'Hello' } },
  { name: 'moderations', path: '/v1/moderations', wires: ['moderation'], body: { input: 'Hello' } },
  {
    name: 'native',
    path: '/v1/native/responses',
    wires: ['responses'],
    model: NATIVE,
    streams: true,
    body: { input: [{ type: 'message', role: 'user', content: 'Hello' }], store: false },
  },
  {
    name: 'rerank',
    path: '/v1/rerank',
    wires: ['rerank'],
    body: { query: 'Hello', documents: ['One', 'Two'] },
  },
  {
    name: 'transcription',
    path: '/v1/audio/transcriptions',
    wires: ['transcription'],
    sound: true,
    body: { response_format: 'json' },
  },
  {
    name: 'transcription, verbose',
    path: '/v1/audio/transcriptions',
    wires: ['verbose'],
    sound: true,
    body: { response_format: 'verbose_json' },
  },
  { name: 'images', path: '/v1/images/generations', wires: ['image'], body: { prompt: 'A cat' } },
];
