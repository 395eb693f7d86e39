import { readRecording } from '../../../../test/support/forged-recordings';
import { type ReadResponse, expect, jsonOf } from '../../../operations/http';
import { row, type SpecificationRow } from '../../row';
import type { SpecificationWorld } from '../../world';
import {
  sendRequest,
  at,
  embeddings,
  embeddingsOf,
  field,
  sendAndCapture,
  listAt,
  uniqueWord,
  numberAt,
  ok,
  okJson,
  recordingOf,
  recordOf,
  expectRejected,
  rerank,
  rerankOf,
  same,
  speech,
  speechOf,
  textAt,
  transcriptions,
} from './gateway-calls';
import { sendSpeech, speechRows } from './speech';

const sendEmbedding = (world: SpecificationWorld, input: unknown = 'Hello', more: object = {}) =>
  sendRequest(world, embeddings, embeddingsOf(input, more));

const embeddingRows: readonly SpecificationRow[] = [
  row('4.5', '`model` is required, and a string', async (world) => {
    await expectRejected(sendEmbedding(world, 'Hello', { model: undefined }), 400, 'missing_model', 'model');
    await expectRejected(sendEmbedding(world, 'Hello', { model: 7 }), 400, 'invalid_request', 'model');
  }),
  row('4.5', '`input` is required', async (world) => {
    await expectRejected(
      sendRequest(world, embeddings, { model: 'spec-embed' }),
      400,
      'invalid_request',
      'input',
    );
  }),
  row('4.5', '`input` is a string or a list of strings', async (world) => {
    same(listAt(await okJson(sendEmbedding(world, 'Hello')), 'data').length, 1, 'vectors');
    same(listAt(await okJson(sendEmbedding(world, ['one', 'two', 'three'])), 'data').length, 3, 'vectors');
    for (const invalidValue of [7, {}, [{}]])
      same((await sendEmbedding(world, invalidValue)).status, 400, 'status');
  }),
  row('4.5', '`region` restricts the call to that region', async (world) => {
    const upstreamRequest = await sendAndCapture(world, embeddings, (text) =>
      embeddingsOf(text, { region: 'us' }),
    );
    same([upstreamRequest.at, at(upstreamRequest.body, 'region')], ['second', undefined], 'the supplier');
  }),
  row('4.5', '`object` is `list`', async (world) => {
    same(at(await okJson(sendEmbedding(world)), 'object'), 'list', 'object');
  }),
  row('4.5', '`model` names the requested model', async (world) => {
    same(at(await okJson(sendEmbedding(world)), 'model'), 'spec-embed', 'model');
  }),
  row('4.5', '`data[].object` is `embedding`', async (world) => {
    const data = listAt(await okJson(sendEmbedding(world, ['one', 'two'])), 'data');
    same(data.map((one) => at(one, 'object')).join(), 'embedding,embedding', 'object');
  }),
  row('4.5', '`data[].index` is the position of the input', async (world) => {
    const data = listAt(await okJson(sendEmbedding(world, ['one', 'two', 'three'])), 'data');
    same(data.map((one) => at(one, 'index')).join(), '0,1,2', 'index');
  }),
  row(
    '4.5',
    '`data[].embedding` is a list of numbers, as the supplier has it for the text at its position',
    async (world) => {
      const input = [uniqueWord(), uniqueWord()];
      const data = listAt(await okJson(sendEmbedding(world, input)), 'data');
      const suppliers = await world.suppliers();
      for (const [place, text] of input.entries()) {
        const own = await suppliers.directly('first', embeddings, { model: 'sim-spec-embed', input: text });
        const vector = at(JSON.parse(own.toString()), 'data.0.embedding');
        expect(
          listAt(data[place], 'embedding').every((value) => typeof value === 'number'),
          'not all are numbers',
        );
        same(at(data[place], 'embedding'), vector, `vector ${place}`);
      }
    },
  ),
  row('4.5', '`data[].index` is there where the supplier leaves it out', async (world) => {
    const { name, upstream } = await world.newModel({ kind: 'embedding', fields: { output_price: '0' } });
    await (
      await world.suppliers()
    ).answer('first', upstream[0] ?? '', {
      object: 'list',
      model: upstream[0],
      data: [
        { object: 'embedding', embedding: [1, 0] },
        { object: 'embedding', embedding: [0, 1] },
      ],
      usage: { prompt_tokens: 2, total_tokens: 2 },
    });
    const data = listAt(await okJson(sendEmbedding(world, ['one', 'two'], { model: name })), 'data');
    same(data.map((one) => at(one, 'index')).join(), '0,1', 'index');
  }),
  row(
    '4.5',
    '`usage.prompt_tokens` and `usage.total_tokens` are whole numbers, equal, and those of the bill',
    async (world) => {
      const embeddingResponse = await ok(sendEmbedding(world, ['Hello to all of you', 'and to all others']));
      const answer = jsonOf(embeddingResponse);
      const prompt = Number(field(answer, 'usage.prompt_tokens', 'integer'));
      expect(prompt > 0, 'no tokens');
      same(field(answer, 'usage.total_tokens', 'integer'), prompt, 'total_tokens');
      const record = await recordOf((await world.caller()).client, embeddingResponse);
      same(numberAt(record, 'input_tokens'), prompt, 'tokens on record');
      same(numberAt(record, 'cost_usd').toFixed(9), (prompt / 1e6).toFixed(9), 'cost');
    },
  ),
];

const sendRerank = (world: SpecificationWorld, more: object = {}) =>
  sendRequest(world, rerank, rerankOf(more));

const rerankRows: readonly SpecificationRow[] = [
  row('4.6', '`model` is required, and a string', async (world) => {
    await expectRejected(sendRerank(world, { model: undefined }), 400, 'missing_model', 'model');
    await expectRejected(sendRerank(world, { model: 7 }), 400, 'invalid_request', 'model');
  }),
  row('4.6', '`query` is required, and a string', async (world) => {
    await expectRejected(sendRerank(world, { query: undefined }), 400, 'invalid_request', 'query');
    await expectRejected(sendRerank(world, { query: 7 }), 400, 'invalid_request', 'query');
  }),
  row('4.6', '`documents` is required, and a list of strings', async (world) => {
    await expectRejected(sendRerank(world, { documents: undefined }), 400, 'invalid_request', 'documents');
    await expectRejected(sendRerank(world, { documents: 'one' }), 400, 'invalid_request', 'documents');
    same((await sendRerank(world, { documents: [7] })).status, 400, 'status');
  }),
  row('4.6', '`model` names the requested model', async (world) => {
    same(at(await okJson(sendRerank(world)), 'model'), 'spec-rerank', 'model');
  }),
  row('4.6', '`results[].index` is the original position, each once', async (world) => {
    const results = listAt(await okJson(sendRerank(world)), 'results');
    same(results.map((one) => Number(field(one, 'index', 'integer'))).toSorted(), [0, 1, 2], 'indexes');
    same(at(results[0], 'index'), 1, 'the best');
  }),
  row('4.6', '`results[].relevance_score` is a number, higher is more relevant', async (world) => {
    const results = listAt(await okJson(sendRerank(world)), 'results');
    const score = (index: number) =>
      numberAt(
        results.find((one) => at(one, 'index') === index),
        'relevance_score',
      );
    expect(score(1) > score(2), `Paris has ${score(1)}, the cat ${score(2)}`);
  }),
  row(
    '4.6',
    '`results` are sorted by score, the highest first, whatever the supplier does',
    async (world) => {
      const { name, upstream } = await world.newModel({ kind: 'rerank' });
      const results = [0.1, 0.9, 0.5].map((relevance_score, index) => ({ index, relevance_score }));
      await (await world.suppliers()).answer('first', upstream[0] ?? '', { id: 'one', results, meta: {} });
      const sorted = listAt(await okJson(sendRerank(world, { model: name })), 'results');
      same(
        sorted.map((one) => at(one, 'index')),
        [1, 2, 0],
        'order',
      );
    },
  ),
];

async function sendTranscription(
  world: SpecificationWorld,
  fields: Readonly<Record<string, string>> = { model: 'spec-whisper' },
  file: Uint8Array = readRecording('pcm.wav'),
  name = 'speech.wav',
): Promise<ReadResponse> {
  return (await world.caller()).client.post(transcriptions, recordingOf(fields, file, name));
}

const MAX_BYTES = 25 * 1024 * 1024;
const recordings: readonly [kind: string, file: string][] = [
  ['WAV', 'pcm.wav'],
  ['MP3', 'constant.mp3'],
  ['M4A', 'aac.m4a'],
  ['FLAC', 'flac.flac'],
  ['OGG', 'opus.ogg'],
  ['WebM', 'opus.webm'],
];

/** A recording of exactly this size. */
function recordingOfSize(bytes: number): Uint8Array {
  const head = Buffer.alloc(44);
  head.write('RIFF');
  head.writeUInt32LE(bytes - 8, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(48_000, 24);
  head.writeUInt32LE(96_000, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36);
  head.writeUInt32LE(bytes - 44, 40);
  return Buffer.concat([head, Buffer.alloc(bytes - 44)]);
}

const transcriptionRows: readonly SpecificationRow[] = [
  row('4.7', 'the body is multipart/form-data, and nothing else', async (world) => {
    await expectRejected(
      sendRequest(world, transcriptions, { model: 'spec-whisper' }),
      415,
      'unsupported_media_type',
    );
  }),
  row('4.7', '`file` is required', async (world) => {
    const body = new FormData();
    body.append('model', 'spec-whisper');
    await expectRejected(
      (await world.caller()).client.post(transcriptions, { body }),
      400,
      'invalid_request',
      'file',
    );
  }),
  ...recordings.map(([kind, file]) =>
    row('4.7', `\`file\` may be ${kind}: its text comes back, and its length is charged`, async (world) => {
      const name = `speech.${file.split('.').at(-1)}`;
      const text = uniqueWord();
      const fields = { model: 'spec-whisper', prompt: `[[echo=${text}]]` };
      const answer = await ok(sendTranscription(world, fields, readRecording(file), name));
      same(at(jsonOf(answer), 'text'), text, 'text');
      expect(Number(answer.headers.get('x-svc-cost-usd')) > 0, 'no length was charged');
    }),
  ),
  row('4.7', '`file` in another format is refused', async (world) => {
    const text = Buffer.from('This is no recording at all. '.repeat(20));
    await expectRejected(
      sendTranscription(world, { model: 'spec-whisper' }, text, 'speech.wav'),
      415,
      'unsupported_media_type',
      'file',
    );
  }),
  row('4.7', '`model` left out means `whisper`', async (world) => {
    const suppliers = await world.suppliers();
    const before = (await suppliers.requestsFor('first', 'sim-spec-whisper')).length;
    const { client } = await world.caller();
    const defaultRecord = await recordOf(client, await ok(sendTranscription(world, {})));
    const namedRecord = await recordOf(client, await ok(sendTranscription(world, { model: 'whisper' })));
    same(at(defaultRecord, 'model'), at(namedRecord, 'model'), 'the model on record');
    const after = (await suppliers.requestsFor('first', 'sim-spec-whisper')).length;
    same(after - before, 2, 'requests to its supplier');
  }),
  row(
    '4.7',
    '`language`, an ISO-639-1 code, reaches the supplier; left out, the supplier detects it',
    async (world) => {
      const fields = { model: 'spec-whisper', response_format: 'verbose_json' };
      same(
        at(await okJson(sendTranscription(world, { ...fields, language: 'de' })), 'language'),
        'de',
        'language',
      );
      same(at(await okJson(sendTranscription(world, fields)), 'language'), 'english', 'language');
    },
  ),
  row('4.7', '`text` is what the supplier heard', async (world) => {
    const text = uniqueWord();
    const answer = await okJson(
      sendTranscription(world, { model: 'spec-whisper', prompt: `[[echo=${text}]]` }),
    );
    same(at(answer, 'text'), text, 'text');
  }),
];

const limitRows: readonly SpecificationRow[] = [
  row('8', 'a recording of 25 MB is taken, and its text comes back', async (world) => {
    textAt(
      await okJson(sendTranscription(world, { model: 'spec-whisper' }, recordingOfSize(MAX_BYTES))),
      'text',
    );
  }),
  row('8', 'a recording of one byte more than 25 MB is refused with a code', async (world) => {
    const more = sendTranscription(world, { model: 'spec-whisper' }, recordingOfSize(MAX_BYTES + 1));
    await expectRejected(more, 413, 'request_too_large', 'file');
  }),
  row('8', '4096 characters of speech are taken, one more is refused', async (world) => {
    await ok(sendSpeech(world, 'a'.repeat(4_096), { voice: 'nova' }));
    await expectRejected(
      sendSpeech(world, 'a'.repeat(4_097), { voice: 'nova' }),
      400,
      'invalid_request',
      'input',
    );
  }),
  row('8', 'speed 0.25 and 4 of speech are taken, what is beyond is refused', async (world) => {
    for (const speed of [0.25, 4]) {
      const upstreamRequest = await sendAndCapture(world, speech, (text) =>
        speechOf(text, { speed, voice: 'nova' }),
      );
      same(at(upstreamRequest.body, 'speed'), speed, 'speed');
    }
    for (const speed of [0.24, 4.01])
      await expectRejected(sendSpeech(world, 'Hello', { speed }), 400, 'invalid_request', 'speed');
  }),
  row('8', '2048 tokens a string of embeddings are taken', async (world) => {
    await ok(sendEmbedding(world, 'word '.repeat(1_900)));
  }),
  row(
    '8',
    'a string of embeddings that is certainly longer than 2048 tokens is refused before it is sent',
    async (world) => {
      const text = uniqueWord();
      const input = ['short', `${text} ${'word '.repeat(9_000)}`];
      await expectRejected(sendEmbedding(world, input), 400, 'context_length_exceeded');
      same((await (await world.suppliers()).requestsWith(text)).length, 0, 'requests that were sent');
    },
  ),
];

export const mediaRows: readonly SpecificationRow[] = [
  ...embeddingRows,
  ...rerankRows,
  ...transcriptionRows,
  ...speechRows,
  ...limitRows,
];
