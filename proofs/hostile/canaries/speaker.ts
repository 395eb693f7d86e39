import type { Testbed } from '../testbed';
import type { Marks } from './marks';

export interface Said {
  readonly what: string;
  readonly status: number;
  /** Head and body of the answer, as one text. */
  readonly answer: string;
  /** The marks that the request itself carried, or that were made for it. */
  readonly own: Set<string>;
}

export interface Saying {
  readonly method?: string;
  readonly path: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object | string | FormData;
  /** The supplier does this to the one request. */
  readonly fault?: object;
}

/** Sends requests and remembers what came back. */
export class Speaker {
  readonly said: Said[] = [];

  constructor(
    private readonly testbed: Testbed,
    private readonly marks: Marks,
  ) {}

  async say(what: string, saying: Saying): Promise<Said> {
    const { method = 'POST', path, key = this.testbed.keys.demo, headers = {}, body, fault } = saying;
    if (fault !== undefined) await this.testbed.control('POST', '/faults', { fault });
    const text = typeof body === 'object' && !(body instanceof FormData) ? JSON.stringify(body) : body;
    const answer = await fetch(this.testbed.url + path, {
      method,
      headers: {
        ...(key === '' ? {} : { authorization: `Bearer ${key}` }),
        ...(body instanceof FormData ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(text === undefined ? {} : { body: text }),
    });
    const said = {
      what,
      status: answer.status,
      answer: `${JSON.stringify([...answer.headers])}\n${await answer.text()}`,
      own: new Set(this.marksIn(saying)),
    };
    if (fault !== undefined) await this.testbed.control('DELETE', '/faults');
    this.said.push(said);
    return said;
  }

  private marksIn({ path, key, headers, body, fault }: Saying): string[] {
    const fields = body instanceof FormData ? [...body].map(([name, value]) => [name, nameOf(value)]) : body;
    const text = JSON.stringify([path, key, headers, fields, fault]);
    return this.marks.all.filter((mark) => text.includes(mark.text)).map(({ text: own }) => own);
  }
}

const nameOf = (value: string | File): string => (typeof value === 'string' ? value : value.name);
