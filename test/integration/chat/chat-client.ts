import type { TestApp } from '../../support/app';
import { addUser, signIn } from '../../support/people';
import type { Simulator } from '../../support/simulator';
import { ask } from '../web/raw-exchange';

export interface Person {
  readonly userId: number;
  readonly cookie: string;
}

interface Told {
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

export interface Sent {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly json: Told;
}

/** People who chat by the operations of the portal. */
export class ChatClient {
  constructor(private readonly app: TestApp) {}

  async newPerson(): Promise<Person> {
    const userId = await addUser(this.app);
    return { userId, cookie: await signIn(this.app, userId) };
  }

  async send(
    method: string,
    path: string,
    { cookie }: Person,
    body?: object,
    headers: Record<string, string> = {},
  ): Promise<Sent> {
    const answer = await ask(this.app.url, {
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
    return { ...answer, json: isJson ? (JSON.parse(answer.body) as Told) : {} };
  }

  post(path: string, person: Person, body: object = {}): Promise<Sent> {
    return this.send('POST', path, person, body);
  }

  open(path: string, person: Person): Promise<Sent> {
    return this.send('GET', path, person, undefined, { accept: 'text/html' });
  }

  async begin(person: Person, model = 'sim-small'): Promise<number> {
    const { status, json } = await this.post('/api/conversations', person, { model });
    if (status !== 200) throw new Error(`no conversation: ${status}`);
    return json.id ?? 0;
  }

  /** The answer as it comes, up to its first piece of text. */
  async listen(id: number, { cookie }: Person, content: string, signal?: AbortSignal): Promise<Listening> {
    const response = await fetch(`${this.app.url}/api/chat/${id}`, {
      method: 'POST',
      headers: { cookie, 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify({ content, stream: true }),
      ...(signal === undefined ? {} : { signal }),
    });
    if (response.body === null) throw new Error('no stream');
    const pieces = response.body.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
    let heard = '';
    while (!heard.includes('event: text')) heard += (await pieces.next()).value ?? '';
    const rest = async (): Promise<string> => {
      for (let next = await pieces.next(); next.done !== true; next = await pieces.next())
        heard += next.value;
      return heard;
    };
    return { rest };
  }
}

interface Listening {
  readonly rest: () => Promise<string>;
}

interface Event {
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
export const eventsIn = (body: string): Event[] =>
  body
    .split('\n\n')
    .filter((block) => block.startsWith('event: '))
    .map((block) => ({
      event: /^event: (.*)$/m.exec(block)?.[1] ?? '',
      data: JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? '{}') as Event['data'],
    }));
export const textIn = (events: readonly Event[]): string =>
  events
    .filter(({ event }) => event === 'text')
    .map(({ data }) => String(data.text))
    .join('');

export const messagesIn = (requests: Awaited<ReturnType<Simulator['requests']>>): unknown =>
  (requests.at(-1)?.body as { messages?: unknown } | undefined)?.messages;
