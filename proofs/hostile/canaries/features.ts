import type { HostileTestbed } from '../testbed';
import type { CanaryMarks } from './marks';
import type { MarkedSender } from './marked-sender';

const chat = '/v1/chat/completions';
const user = (content: unknown): object[] => [{ role: 'user', content }];

/** Sends marked prompts through every route that accepts text. */
export async function sendPrompts(sender: MarkedSender, marks: CanaryMarks): Promise<void> {
  const parameters = { type: 'object', properties: { [marks.make('name in a schema')]: { type: 'string' } } };
  for (const model of ['small', 'large']) {
    for (const stream of [false, true]) {
      await sender.send(`chat, ${model}, stream ${stream}`, {
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
      await sender.send(`messages, ${model}, stream ${stream}`, {
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
      await sender.send(`responses, ${model}, stream ${stream}`, {
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
  await sender.send('native', {
    path: '/v1/native/responses',
    body: {
      model: 'native',
      stream: true,
      input: user([{ type: 'input_text', text: marks.make('prompt of native') }]),
    },
  });
  const singleRequests: readonly (readonly [string, object])[] = [
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
  for (const [path, body] of singleRequests) await sender.send(path, { path, body });
  const form = new FormData();
  form.set('model', 'ears');
  form.set('prompt', marks.make('prompt of a transcription'));
  form.set('file', new File([`ID3${'\u0000'.repeat(500)}`], `${marks.make('file name')}.mp3`));
  await sender.send('transcription', { path: '/v1/audio/transcriptions', body: form });
}

/** Sends marks through responses and tool calls of suppliers. */
export async function exerciseAnswers(sender: MarkedSender, marks: CanaryMarks): Promise<void> {
  for (const model of ['small', 'large']) {
    for (const stream of [false, true]) {
      const requestFor = (prompt: string): object => ({
        model,
        stream,
        max_tokens: 50,
        messages: user(prompt),
      });
      const what = `${model}, stream ${stream}`;
      await sender.send(`answer, ${what}`, {
        path: chat,
        body: requestFor(`[[echo=${marks.make('answer')}]]`),
      });
      await sender.send(`repeatable answer, ${what}`, {
        path: chat,
        headers: { 'idempotency-key': marks.make('idempotency key') },
        body: requestFor(`[[echo=${marks.make('repeatable answer')}]]`),
      });
      await sender.send(`tool call, ${what}`, {
        path: '/v1/messages',
        body: {
          ...requestFor(`[[tool=look({"a":"${marks.make('arguments of a call')}"})]]`),
          tools: [{ name: 'look', input_schema: { type: 'object', properties: { a: { type: 'string' } } } }],
        },
      });
    }
  }
}

/** A separate lane per model, because the circuit breaker of a failing lane opens. */
export const faultyModels = Array.from({ length: 48 }, (_, at) => `faulty-${at}`);

/** Sends marks through failing suppliers: errors, HTML pages, headers and truncated responses. */
export async function exerciseErrors(sender: MarkedSender, marks: CanaryMarks): Promise<void> {
  const models = faultyModels.values();
  for (const stream of [false, true]) {
    const sendWithFault = (what: string, fault: object, prompt = 'Hello'): Promise<unknown> => {
      const model = models.next().value ?? '';
      const body = { model, stream, max_tokens: 50, messages: user(prompt) };
      return sender.send(`${what}, ${model}, stream ${stream}`, { path: chat, body, fault });
    };
    // Every other model belongs to the supplier with the other dialect.
    for (const status of [400, 401, 403, 404, 413, 429, 500, 503, 529].flatMap((each) => [each, each])) {
      const repeatedMark = marks.make(`what an error of a supplier repeats, ${status}`);
      const message = `cannot serve "${repeatedMark}"`;
      const headers = { 'x-leak': marks.make('header of a supplier'), 'set-cookie': `a=${repeatedMark}` };
      const body = { error: { message, type: 'some_error', code: 'some_code', param: null } };
      await sendWithFault(String(status), { kind: 'status', status, body, headers });
    }
    for (const status of [200, 502]) {
      const body = `${marks.make('page of a supplier')}</h1>`;
      await sendWithFault(`page ${status}`, { kind: 'status', status, body });
    }
    await sendWithFault('error event', {
      kind: 'error-event',
      message: `failed at: ${marks.make('error in a stream')}`,
    });
    await sendWithFault(
      'broken off',
      { kind: 'cut', after: 3 },
      `[[echo=${marks.make('half an answer')} and more of it]]`,
    );
    await sendWithFault(
      'malformed',
      { kind: 'malformed-event' },
      `[[echo=${marks.make('answer beside a broken event')}]]`,
    );
  }
}

/** Sends marks in headers and bodies, and in bytes that are not a valid request. */
export async function exerciseOddRequests(sender: MarkedSender, marks: CanaryMarks): Promise<void> {
  const body = { model: 'small', messages: user('Hello') };
  await sender.send('headers', {
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
  await sender.send('a wrong key', { path: chat, body, key: keyLike('wrong key') });
  await sender.send('a wrong kind of key', {
    path: '/v1/messages',
    body,
    key: '',
    headers: { 'x-api-key': marks.make('wrong x-api-key') },
  });
  await sender.send('another scheme', {
    path: chat,
    body,
    key: '',
    headers: { authorization: `Basic ${marks.make('basic word')}` },
  });
  await sender.send('a key in the query', {
    method: 'GET',
    path: `/v1/models?api_key=${marks.make('key in a query')}`,
    key: '',
  });
  await sender.send('an unknown path', { path: `/v1/${marks.make('unknown path')}`, body });
  await sender.send('an unknown code', { method: 'GET', path: `/v1/errors/${marks.make('unknown code')}` });
  await sender.send('an unknown model', {
    path: chat,
    body: { ...body, model: marks.make('unknown model') },
  });
  await sender.send('an unknown field', {
    path: chat,
    body: { ...body, [marks.make('unknown field')]: marks.make('its value') },
  });
  await sender.send('broken JSON', {
    path: chat,
    body: `{"model":"small","messages":"${marks.make('broken JSON')}`,
  });
  await sender.send('JSON that is text', { path: chat, body: marks.make('no JSON at all') });
  await sender.send('a wrong type', {
    path: chat,
    body: { ...body, messages: marks.make('messages that are text') },
  });
  await sender.send('a number that is text', {
    path: chat,
    body: { ...body, max_tokens: marks.make('number that is text') },
  });
  await sender.send('a portal path', {
    method: 'GET',
    path: `/${marks.make('path of the portal')}`,
    headers: { accept: 'text/html' },
  });
}

/** Creates, reads, changes and revokes keys. */
export async function manageKeys(
  sender: MarkedSender,
  marks: CanaryMarks,
  testbed: HostileTestbed,
): Promise<void> {
  const { root } = testbed.keys;
  const created = await sender.send('a key is made', {
    path: '/v1/manage/keys',
    key: root,
    body: {
      name: marks.makeStored('name of a key'),
      metadata: { team: marks.makeStored('metadata of a key') },
    },
  });
  const { id, key } = JSON.parse(created.answer.slice(created.answer.indexOf('\n'))) as {
    id: string;
    key: string;
  };
  created.ownMarks.add(marks.add('a made key', key.slice(12)));
  await sender.send('used', { path: chat, key, body: { model: 'small', messages: user('Hello') } });
  const rotated = await sender.send('rotated', {
    path: `/v1/manage/keys/${id}/rotate`,
    key: root,
    body: { grace_seconds: 60 },
  });
  const newSecret = /svc_\w{57}/.exec(rotated.answer)?.[0] ?? '';
  rotated.ownMarks.add(marks.add('a rotated key', newSecret.slice(12)));
  await sender.send('used again', {
    path: chat,
    key: newSecret,
    body: { model: 'small', messages: user('Hello') },
  });
  await sender.send('read', { method: 'GET', path: `/v1/manage/keys/${id}`, key: root });
  await sender.send('audited', { method: 'GET', path: `/v1/manage/keys/${id}/audit`, key: root });
  await sender.send('refused', {
    path: '/v1/manage/keys',
    key: root,
    body: { name: 'x', allowed_models: [marks.make('refused field')] },
  });
  await sender.send('revoked', { method: 'DELETE', path: `/v1/manage/keys/${id}`, key: root });
  await sender.send('used after that', {
    path: chat,
    key: newSecret,
    body: { model: 'small', messages: user('Hello') },
  });
}
