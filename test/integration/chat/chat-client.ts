import type { TestApp } from '../../support/app';
import { addUser, signIn } from '../../support/users';
import type { Simulator } from '../../support/simulator';
import { sendRaw } from '../web/raw-exchange';

export interface WebChatUser {
  readonly userId: number;
  readonly cookie: string;
}

interface ChatJson {
  readonly id?: number;
  readonly code?: string;
  readonly model?: string;
  readonly message?: {
    readonly id: string;
    readonly content: string;
    readonly state: string;
    readonly model: string;
    readonly cost_usd: string;
  };
}

export interface ChatResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly json: ChatJson;
}

/** Users who chat through the portal API. */
export class ChatClient {
  constructor(private readonly app: TestApp) {}

  async createUser(): Promise<WebChatUser> {
    const userId = await addUser(this.app);
    return { userId, cookie: await signIn(this.app, userId) };
  }

  async send(
    method: string,
    path: string,
    { cookie }: WebChatUser,
    body?: object,
    headers: Record<string, string> = {},
  ): Promise<ChatResponse> {
    const answer = await sendRaw(this.app.url, {
      method,
      path,
      headers: {
        cookie,
        accept: 'application/json',
        'sec-fetch-site': 'same-origin',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const isJson = (answer.headers['content-type'] ?? '').startsWith('application/json');
    return { ...answer, json: isJson ? (JSON.parse(answer.body) as ChatJson) : {} };
  }

  post(path: string, person: WebChatUser, body: object = {}): Promise<ChatResponse> {
    return this.send('POST', path, person, body);
  }

  open(path: string, person: WebChatUser): Promise<ChatResponse> {
    return this.send('GET', path, person, undefined, { accept: 'text/html' });
  }

  async begin(person: WebChatUser, model = 'sim-small'): Promise<number> {
    const { status, json } = await this.post('/api/conversations', person, { model });
    if (status !== 200) throw new Error(`no conversation: ${status}`);
    return json.id ?? 0;
  }

  /** Starts a streamed reply and resolves with its first text. */
  async startStream(
    id: number,
    { cookie }: WebChatUser,
    content: string,
    signal?: AbortSignal,
  ): Promise<OpenReplyStream> {
    const response = await fetch(`${this.app.url}/api/chat/${id}`, {
      method: 'POST',
      headers: { cookie, 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify({ content, stream: true }),
      ...(signal === undefined ? {} : { signal }),
    });
    if (response.body === null) throw new Error('no stream');
    const textChunks = response.body.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
    let receivedText = '';
    while (!receivedText.includes('event: text')) receivedText += (await textChunks.next()).value ?? '';
    const readRest = async (): Promise<string> => {
      for (let next = await textChunks.next(); next.done !== true; next = await textChunks.next())
        receivedText += next.value;
      return receivedText;
    };
    return { rest: readRest };
  }
}

interface OpenReplyStream {
  readonly rest: () => Promise<string>;
}

interface ChatEvent {
  readonly event: string;
  readonly data: {
    readonly text?: string;
    readonly state?: string;
    readonly cost_usd?: string;
    readonly conversation_cost_usd?: string;
    readonly output_tokens?: number;
    readonly shown?: { readonly facts: readonly string[] };
  };
}
export const eventsIn = (body: string): ChatEvent[] =>
  body
    .split('\n\n')
    .filter((block) => block.startsWith('event: '))
    .map((block) => ({
      event: /^event: (.*)$/m.exec(block)?.[1] ?? '',
      data: JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? '{}') as ChatEvent['data'],
    }));
export const textIn = (events: readonly ChatEvent[]): string =>
  events
    .filter(({ event }) => event === 'text')
    .map(({ data }) => String(data.text))
    .join('');

export const messagesIn = (requests: Awaited<ReturnType<Simulator['requests']>>): unknown =>
  (requests.at(-1)?.body as { messages?: unknown } | undefined)?.messages;
