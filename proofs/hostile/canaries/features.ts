import type { Testbed } from '../testbed';
import type { Marks } from './marks';
import type { Speaker } from './speaker';

const chat = '/v1/chat/completions';
const user = (content: unknown): object[] => [{ role: 'user', content }];

/** Words of callers, through every route that takes words. */
export async function sayPrompts(speaker: Speaker, marks: Marks): Promise<void> {
  const parameters = { type: 'object', properties: { [marks.make('name in a schema')]: { type: 'string' } } };
  for (const model of ['small', 'large']) {
    for (const stream of [false, true]) {
      await speaker.say(`chat, ${model}, stream ${stream}`, {
        path: chat,
        body: {
          model,
          stream,
          max_tokens: 50,
          stop: [marks.make('stop sequence')],
          user: marks.makeStored('name of an end user'),
          metadata: { purpose: marks.make('metadata of a request') },
          messages: [
            { role: 'system', content: marks.make('system text') },
            ...user(marks.make('prompt of a chat')),
            {
              role: 'assistant',
              content: null,
              tool_calls: [
                {
                  id: 'call_1',
                  type: 'function',
                  function: { name: 'look', arguments: JSON.stringify({ a: marks.make('tool arguments') }) },
                },
              ],
            },
            { role: 'tool', tool_call_id: 'call_1', content: marks.make('tool result') },
          ],
          tools: [
            {
              type: 'function',
              function: { name: 'look', description: marks.make('tool description'), parameters },
            },
          ],
        },
      });
      await speaker.say(`messages, ${model}, stream ${stream}`, {
        path: '/v1/messages',
        body: {
          model,
          stream,
          max_tokens: 50,
          system: marks.make('system text of messages'),
          messages: [
            ...user([
              { type: 'text', text: marks.make('prompt of messages') },
              {
                type: 'document',
                title: marks.make('title of a document'),
                source: { type: 'text', media_type: 'text/plain', data: marks.make('text of a document') },
              },
            ]),
          ],
        },
      });
      await speaker.say(`responses, ${model}, stream ${stream}`, {
        path: '/v1/responses',
        body: {
          model,
          stream,
          max_output_tokens: 50,
          instructions: marks.make('instructions'),
          input: user([{ type: 'input_text', text: marks.make('prompt of responses') }]),
        },
      });
    }
  }
  await speaker.say('native', {
    path: '/v1/native/responses',
    body: {
      model: 'native',
      stream: true,
      input: user([{ type: 'input_text', text: marks.make('prompt of native') }]),
    },
  });
  const single: readonly (readonly [string, object])[] = [
    ['/v1/messages/count_tokens', { model: 'large', messages: user(marks.make('counted text')) }],
    ['/v1/completions', { model: 'small', prompt: marks.make('prompt of completions') }],
    ['/v1/embeddings', { model: 'vectors', input: [marks.make('embedded text')] }],
    [
      '/v1/rerank',
      {
        model: 'ranks',
        query: marks.make('query'),
        documents: [marks.make('ranked document'), 'x'],
        return_documents: true,
      },
    ],
    ['/v1/audio/speech', { model: 'voice', input: marks.make('spoken text'), voice: 'alloy' }],
    ['/v1/images/generations', { model: 'painter', prompt: marks.make('prompt of an image') }],
    ['/v1/moderations', { model: 'guard', input: marks.make('moderated text') }],
  ];
  for (const [path, body] of single) await speaker.say(path, { path, body });
  const form = new FormData();
  form.set('model', 'ears');
  form.set('prompt', marks.make('prompt of a transcription'));
  form.set('file', new File([`ID3${'\u0000'.repeat(500)}`], `${marks.make('file name')}.mp3`));
  await speaker.say('transcription', { path: '/v1/audio/transcriptions', body: form });
}

/** Sends marks through suppliers' answers and tool calls. */
export async function exerciseAnswers(speaker: Speaker, marks: Marks): Promise<void> {
  for (const model of ['small', 'large']) {
    for (const stream of [false, true]) {
      const asks = (words: string): object => ({ model, stream, max_tokens: 50, messages: user(words) });
      const what = `${model}, stream ${stream}`;
      await speaker.say(`answer, ${what}`, { path: chat, body: asks(`[[echo=${marks.make('answer')}]]`) });
      await speaker.say(`repeatable answer, ${what}`, {
        path: chat,
        headers: { 'idempotency-key': marks.make('idempotency key') },
        body: asks(`[[echo=${marks.make('repeatable answer')}]]`),
      });
      await speaker.say(`tool call, ${what}`, {
        path: '/v1/messages',
        body: {
          ...asks(`[[tool=look({"a":"${marks.make('arguments of a call')}"})]]`),
          tools: [{ name: 'look', input_schema: { type: 'object', properties: { a: { type: 'string' } } } }],
        },
      });
    }
  }
}

/** Each model has its own lane, because a lane that fails too often rests. */
export const faultyModels = Array.from({ length: 48 }, (_, at) => `faulty-${at}`);

/** Sends marks through failing suppliers: errors, pages, headers, and broken-off answers. */
export async function exerciseErrors(speaker: Speaker, marks: Marks): Promise<void> {
  const models = faultyModels.values();
  for (const stream of [false, true]) {
    const say = (what: string, fault: object, words = 'Hello'): Promise<unknown> => {
      const model = models.next().value ?? '';
      const body = { model, stream, max_tokens: 50, messages: user(words) };
      return speaker.say(`${what}, ${model}, stream ${stream}`, { path: chat, body, fault });
    };
    // Every other model belongs to the supplier that speaks the other dialect.
    for (const status of [400, 401, 403, 404, 413, 429, 500, 503, 529].flatMap((each) => [each, each])) {
      const repeated = marks.make(`what an error of a supplier repeats, ${status}`);
      const message = `cannot serve "${repeated}"`;
      const headers = { 'x-leak': marks.make('header of a supplier'), 'set-cookie': `a=${repeated}` };
      const body = { error: { message, type: 'some_error', code: 'some_code', param: null } };
      await say(String(status), { kind: 'status', status, body, headers });
    }
    for (const status of [200, 502]) {
      const body = `${marks.make('page of a supplier')}</h1>`;
      await say(`page ${status}`, { kind: 'status', status, body });
    }
    await say('error event', {
      kind: 'error-event',
      message: `failed at: ${marks.make('error in a stream')}`,
    });
    await say(
      'broken off',
      { kind: 'cut', after: 3 },
      `[[echo=${marks.make('half an answer')} and more of it]]`,
    );
    await say(
      'malformed',
      { kind: 'malformed-event' },
      `[[echo=${marks.make('answer beside a broken event')}]]`,
    );
  }
}

/** Sends marks in headers and bodies, and in bytes that are no valid request. */
export async function exerciseOddRequests(speaker: Speaker, marks: Marks): Promise<void> {
  const body = { model: 'small', messages: user('Hello') };
  await speaker.say('headers', {
    path: chat,
    body,
    headers: {
      'user-agent': marks.make('user agent'),
      'x-session-id': marks.makeStored('session id'),
      'x-request-id': marks.makeStored('request id'),
      'x-forwarded-for': marks.make('forwarded for'),
      cookie: `svc_session=${marks.make('cookie')}`,
      referer: `http://x/${marks.make('referer')}`,
      'x-anything': marks.make('header nobody knows'),
      'openai-organization': marks.make('organisation header'),
    },
  });
  const keyLike = (name: string): string => marks.make(name, 'svc_').padEnd(61, '0').slice(0, 61);
  await speaker.say('a wrong key', { path: chat, body, key: keyLike('wrong key') });
  await speaker.say('a wrong kind of key', {
    path: '/v1/messages',
    body,
    key: '',
    headers: { 'x-api-key': marks.make('wrong x-api-key') },
  });
  await speaker.say('another scheme', {
    path: chat,
    body,
    key: '',
    headers: { authorization: `Basic ${marks.make('basic word')}` },
  });
  await speaker.say('a key in the query', {
    method: 'GET',
    path: `/v1/models?api_key=${marks.make('key in a query')}`,
    key: '',
  });
  await speaker.say('an unknown path', { path: `/v1/${marks.make('unknown path')}`, body });
  await speaker.say('an unknown code', { method: 'GET', path: `/v1/errors/${marks.make('unknown code')}` });
  await speaker.say('an unknown model', {
    path: chat,
    body: { ...body, model: marks.make('unknown model') },
  });
  await speaker.say('an unknown field', {
    path: chat,
    body: { ...body, [marks.make('unknown field')]: marks.make('its value') },
  });
  await speaker.say('broken JSON', {
    path: chat,
    body: `{"model":"small","messages":"${marks.make('broken JSON')}`,
  });
  await speaker.say('JSON that is text', { path: chat, body: marks.make('no JSON at all') });
  await speaker.say('a wrong type', {
    path: chat,
    body: { ...body, messages: marks.make('messages that are text') },
  });
  await speaker.say('a number that is text', {
    path: chat,
    body: { ...body, max_tokens: marks.make('number that is text') },
  });
  await speaker.say('a portal path', {
    method: 'GET',
    path: `/${marks.make('path of the portal')}`,
    headers: { accept: 'text/html' },
  });
}

/** Keys as they are made, read, changed and ended. */
export async function manageKeys(speaker: Speaker, marks: Marks, testbed: Testbed): Promise<void> {
  const { root } = testbed.keys;
  const made = await speaker.say('a key is made', {
    path: '/v1/manage/keys',
    key: root,
    body: {
      name: marks.makeStored('name of a key'),
      metadata: { team: marks.makeStored('metadata of a key') },
    },
  });
  const { id, key } = JSON.parse(made.answer.slice(made.answer.indexOf('\n'))) as { id: string; key: string };
  made.own.add(marks.add('a made key', key.slice(12)));
  await speaker.say('used', { path: chat, key, body: { model: 'small', messages: user('Hello') } });
  const rotated = await speaker.say('rotated', {
    path: `/v1/manage/keys/${id}/rotate`,
    key: root,
    body: { grace_seconds: 60 },
  });
  const again = /svc_\w{57}/.exec(rotated.answer)?.[0] ?? '';
  rotated.own.add(marks.add('a rotated key', again.slice(12)));
  await speaker.say('used again', {
    path: chat,
    key: again,
    body: { model: 'small', messages: user('Hello') },
  });
  await speaker.say('read', { method: 'GET', path: `/v1/manage/keys/${id}`, key: root });
  await speaker.say('audited', { method: 'GET', path: `/v1/manage/keys/${id}/audit`, key: root });
  await speaker.say('refused', {
    path: '/v1/manage/keys',
    key: root,
    body: { name: 'x', allowed_models: [marks.make('refused field')] },
  });
  await speaker.say('revoked', { method: 'DELETE', path: `/v1/manage/keys/${id}`, key: root });
  await speaker.say('used after that', {
    path: chat,
    key: again,
    body: { model: 'small', messages: user('Hello') },
  });
}
